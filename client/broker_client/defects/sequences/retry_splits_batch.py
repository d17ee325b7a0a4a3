"""The retry of a batch has fewer records than its first attempt, under the same sequence.

Back-off applies to records, not batches: when the retry is built, some records still back off, and the rest go out
with the base sequence of the whole batch. If the first attempt was stored, the broker knows a batch of another size
there and refuses the retry; the client heals that with a new epoch and stores the records twice. A correct client
keeps a batch as it was built: sequence, records and bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.batching.record_accumulator import RecordAccumulator
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from broker_client.core.batching.producer_batch import ProducerBatch


class RebuildingAccumulator(RecordAccumulator):
    """Retries a batch in two parts."""

    def reenqueue(self, batch: ProducerBatch, now_ms: int) -> None:
        """Split a batch with several records when it is to be retried."""
        if not batch.can_split or not batch.has_sequence or self._transactions is None:
            super().reenqueue(batch, now_ms)
            return
        self._transactions.remove_in_flight_batch(batch)
        batch.number = self._next_number()  # a part of itself from here on: such a batch is halved
        self.split_and_reenqueue(batch)
        self.deallocate(batch)


DEFECT: Final = Defect(
    name="retry-splits-batch",
    lesson=__doc__,
    source="librdkafka#4736",
    affected="librdkafka 2.2.0 to 2.4.x",
    anomalies=("retry-rebuilds-different-batch",),
    parts={"accumulator": RebuildingAccumulator},
)
