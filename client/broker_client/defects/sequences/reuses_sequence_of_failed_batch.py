"""A batch that failed is taken for never stored, and its sequence is given to the next one.

The first attempt was stored, and its error (REQUEST_TIMED_OUT) does not exclude that. Then the batch ends without
success, because it is cancelled or delivery.timeout.ms passes. The next batch has the same sequence: the broker takes
it for a retry, returns success and the old offset, and stores nothing. A correct client never gives up the sequence
of a batch that may be stored: it awaits the others and begins a new epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.transactions.producer_id_state import ProducerIdState
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from broker_client.core.batching.producer_batch import ProducerBatch


class SequenceReuser(ProducerIdState):
    """Continues at the sequence of the batch that was given up."""

    def mark_sequence_unresolved(self, batch: ProducerBatch) -> None:
        """Step back instead."""
        entry = self._entry(batch.topic_partition)
        if not entry.has_in_flight_batches:
            entry.next_sequence = batch.base_sequence


DEFECT: Final = Defect(
    name="reuses-sequence-of-failed-batch",
    lesson=__doc__,
    source="franz-go#1217; franz-go#930",
    affected="franz-go before 1.20.7",
    anomalies=("cancelled-seq-reuse-loss",),
    parts={"producer_id_state": SequenceReuser},
)
