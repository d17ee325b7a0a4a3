"""A request is built with the epoch from before a bump, and a healthy producer is fenced by its own new epoch.

The producer id and epoch are read when a request begins to be built, and the epoch is bumped before it is complete.
The broker has seen the new epoch already and refuses the older one with INVALID_PRODUCER_EPOCH (47), as it would a
zombie. No other producer exists. A correct client reads id, epoch and sequence together, under one lock, when the
batch is drained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.transactions.producer_id_state import ProducerIdState
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from broker_client.core.batching.producer_batch import ProducerBatch, ProducerIdAndEpoch


class StaleEpoch(ProducerIdState):
    """Gives the first new batch after a bump the epoch before."""

    _before: ProducerIdAndEpoch | None = None

    def _bump_epoch(self) -> None:
        self._before = self.producer_id_and_epoch
        super()._bump_epoch()

    def assign_sequence(self, batch: ProducerBatch) -> None:
        """Use the id that was read before the bump, once."""
        super().assign_sequence(batch)
        before, self._before = self._before, None
        if before is not None:
            batch.set_producer_state(before, batch.base_sequence)


DEFECT: Final = Defect(
    name="stale-epoch-in-request",
    lesson=__doc__,
    source="franz-go, changelog of 1.21",
    affected="franz-go before 1.21",
    anomalies=("stale-pid-request",),
    parts={"producer_id_state": StaleEpoch},
)
