"""A sequence error on one partition makes the producer send batches of all partitions under a new epoch.

The epoch belongs to the producer, the sequences to its partitions. A batch of another partition may be stored
already, its response still under way; if it is numbered anew and sent again, the broker sees a new epoch that begins
at sequence 0, and stores it for the second time: a duplicate with `enable.idempotence`. A correct client rewrites the
batches of the failed partition alone (KIP-360), and the others move to the new epoch when nothing of theirs is in
flight.
"""

from __future__ import annotations

from typing import Final

from broker_client.core.transactions.producer_id_state import ProducerIdState
from broker_client.defects.defect import Defect


class ProducerWideBump(ProducerIdState):
    """Numbers the batches in flight of every partition anew."""

    def _bump_epoch(self) -> None:
        self._to_rewrite.update(dict.fromkeys(self._partitions))
        super()._bump_epoch()


DEFECT: Final = Defect(
    name="bump-rewrites-all-partitions",
    lesson=__doc__,
    source="librdkafka#4953",
    affected="librdkafka (reported for 2.x)",
    anomalies=("cross-partition-epoch-bump-dup",),
    parts={"producer_id_state": ProducerWideBump},
)
