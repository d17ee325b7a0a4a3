"""After 2^31 - 1 the sequence continues with -2^31, and the broker refuses every further batch.

Sequences are numbered with 31 bits. A client that adds in 32 bits with a sign sends a negative sequence after two
billion records in a partition, and gets OUT_OF_ORDER_SEQUENCE_NUMBER, which it takes for data loss. A correct client
wraps to 0. The preset `sequence-starts-near-wrap` brings a run there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.defects.defect import Defect
from broker_client.defects.sequences.sequence_error_is_fatal import FatalSequenceErrors
from protocol_specs.error_codes import ErrorCode

_SEQUENCES: Final = 2**31

if TYPE_CHECKING:
    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.errors import ProducerError


class SignedSequences(FatalSequenceErrors):
    """Wraps as a signed integer of 32 bits."""

    def assign_sequence(self, batch: ProducerBatch) -> None:
        """Make the next sequence negative at the wrap."""
        super().assign_sequence(batch)
        entry = self._entry(batch.topic_partition)
        if 0 <= entry.next_sequence < batch.record_count and batch.base_sequence > 0:
            entry.next_sequence -= _SEQUENCES

    def handle_failed_batch(self, batch: ProducerBatch, error: ProducerError, *, adjust_sequence_numbers: bool) -> None:
        """Take any refusal of a negative sequence for data loss."""
        if batch.base_sequence < 0 and not self.has_fatal_error:
            error.error_code = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        super().handle_failed_batch(batch, error, adjust_sequence_numbers=adjust_sequence_numbers)


DEFECT: Final = Defect(
    name="sequence-wraps-to-negative",
    lesson=__doc__,
    source="franz-go, changelogs of 1.5.3 and 1.9.0",
    affected="franz-go before 1.9.0",
    anomalies=("sequence-wrap",),
    parts={"producer_id_state": SignedSequences},
)
