"""OUT_OF_ORDER_SEQUENCE_NUMBER (45) for a batch behind a failed one ends the producer for good.

Five batches are under way when the broker refuses the first with a retriable error. The next four leave a gap in the
sequences, so each of them gets 45. That is expected, and heals when they are sent again behind the first. A client
that takes every 45 for data loss fails all later sends until the application restarts. A correct client retries a
batch that is not the next in line, and begins a new epoch for one that is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.transactions.producer_id_state import ProducerIdState
from broker_client.defects.defect import Defect
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.errors import ProducerError


class FatalSequenceErrors(ProducerIdState):
    """Goes into the state FATAL_ERROR at the first 45."""

    def can_retry(self, batch: ProducerBatch, code: ErrorCode, log_start_offset: int) -> bool:
        """Retry no batch with 45."""
        if code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            return False
        return super().can_retry(batch, code, log_start_offset)

    def handle_failed_batch(self, batch: ProducerBatch, error: ProducerError, *, adjust_sequence_numbers: bool) -> None:
        """Fail everything after 45."""
        if error.error_code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and not self.has_fatal_error:
            self._fatal(error)
        super().handle_failed_batch(batch, error, adjust_sequence_numbers=adjust_sequence_numbers)


DEFECT: Final = Defect(
    name="sequence-error-is-fatal",
    lesson=__doc__,
    source="librdkafka#4438; librdkafka#3584",
    affected="librdkafka before 2.3.0",
    anomalies=("possibly-persisted-desync-fatal",),
    parts={"producer_id_state": FatalSequenceErrors},
)
