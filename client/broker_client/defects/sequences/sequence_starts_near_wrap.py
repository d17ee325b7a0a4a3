"""A preset, no bug: the sequences of every partition begin three below 2^31, so that a run reaches the wrap at once.

A broker that knows nothing of a producer id accepts any first sequence, so the run is legal. A correct client
continues with 0 after 2^31 - 1, and the broker expects that. Together with `sequence-wraps-to-negative` the preset
shows the client that does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_client.core.transactions.producer_id_state import ProducerIdState
from broker_client.defects.defect import Defect

START: Final = 2**31 - 3

if TYPE_CHECKING:
    from broker_client.records import TopicPartition


class LateSequences(ProducerIdState):
    """Begins at START in the first epoch; epochs that follow begin at 0."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._started: set[TopicPartition] = set()

    def maybe_update_producer_id_and_epoch(self, key: TopicPartition) -> None:
        """Begin late where nothing was sent yet."""
        super().maybe_update_producer_id_and_epoch(key)
        if key not in self._started:
            self._started.add(key)
            entry = self._entry(key)
            entry.next_sequence = START
            entry.last_acked_sequence = START - 1


DEFECT: Final = Defect(
    name="sequence-starts-near-wrap",
    lesson=__doc__,
    source="none: a preset for the next one",
    affected="none",
    anomalies=("sequence-wrap",),
    parts={"producer_id_state": LateSequences},
)
