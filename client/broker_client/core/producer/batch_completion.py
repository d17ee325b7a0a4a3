"""Handles the produce response of one batch: complete, retry, split or fail.

Mirrors Sender.completeBatch and failBatch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_client.core.producer.trace import BatchEventKind
from broker_client.errors import BatchExpired, BrokerError, InvalidRecordBatch, ProducerError, error_of
from broker_client.records import NO_OFFSET, NO_TIMESTAMP
from protocol_specs.error_codes import REFUSED_BEFORE_APPEND, ErrorCode, ErrorFamily

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.core.batching.record_accumulator import RecordAccumulator
    from broker_client.core.metrics.sender_metrics import SenderMetrics
    from broker_client.core.network.metadata import Metadata
    from broker_client.core.transactions.producer_id_state import ProducerIdState

__all__ = ["BatchCompletion", "PartitionResponse"]

# After these it is unknown whether the batch is in the log.
_NAMING_THE_LEADER: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
_log = Logger()


@dataclass(slots=True, kw_only=True)
class PartitionResponse:
    """A partition's part of a produce response, or what stands for it when none came."""

    error_code: ErrorCode
    base_offset: int = NO_OFFSET
    log_append_time_ms: int = NO_TIMESTAMP
    log_start_offset: int = NO_OFFSET
    message: str | None = None
    record_errors: Mapping[int, str | None] = field(default_factory=dict)

    @property
    def has_current_leader(self) -> bool:
        """True if `current_leader` of the response is meaningful (KIP-951)."""
        return self.error_code in _NAMING_THE_LEADER


class BatchCompletion:
    """Decides, and acts on accumulator, metadata and sequence numbers."""

    __slots__ = (
        "_accumulator",
        "_delivery_timeout_ms",
        "_metadata",
        "_metrics",
        "_retries",
        "_transactions",
    )

    def __init__(
        self,
        *,
        accumulator: RecordAccumulator,
        metadata: Metadata,
        transactions: ProducerIdState | None,
        retries: int,
        delivery_timeout_ms: int,
        metrics: SenderMetrics,
    ) -> None:
        self._accumulator = accumulator
        self._metadata = metadata
        self._transactions = transactions
        self._retries = retries
        self._delivery_timeout_ms = delivery_timeout_ms
        self._metrics = metrics

    def complete(self, batch: ProducerBatch, response: PartitionResponse, now_ms: int) -> None:
        """A request that carried the batch has ended."""
        code = response.error_code
        if code is ErrorCode.NONE:
            self._succeed(batch, response)
            return
        if code not in REFUSED_BEFORE_APPEND:
            batch.maybe_written = True
        if code is ErrorCode.MESSAGE_TOO_LARGE and batch.can_split:
            self._split(batch)
        elif self._can_retry(batch, response, now_ms):
            self._retry(batch, response, now_ms)
        elif code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            # It is in the log; the broker has forgotten where.
            self._succeed(batch, PartitionResponse(error_code=ErrorCode.NONE))
        else:
            # With attempts used up it is unknown whether the sequence was used; otherwise it surely was not.
            self._fail(batch, response, adjust_sequence_numbers=batch.attempts < self._retries)
        if code.family is ErrorFamily.INVALID_METADATA:
            self._metadata.request_update()

    def expire(self, batch: ProducerBatch, error: BatchExpired) -> None:
        """delivery.timeout.ms has passed, in the queue or in flight."""
        error.maybe_written = batch.in_flight or batch.maybe_written
        if not batch.fail(lambda _: error):
            return
        self._metrics.failed(batch)
        self._accumulator.observer.completed(BatchEventKind.EXPIRED, batch, str(error), error=type(error).__name__)
        if self._transactions is not None:
            self._transactions.handle_failed_batch(batch, error, adjust_sequence_numbers=False)
            if batch.in_retry:
                self._transactions.mark_sequence_unresolved(batch)
        if batch.in_flight:
            self._accumulator.forget(batch)
        else:
            self._accumulator.deallocate(batch)

    def _succeed(self, batch: ProducerBatch, response: PartitionResponse) -> None:
        if self._transactions is not None:
            self._transactions.handle_completed_batch(batch, response.base_offset)
        if batch.complete(response.base_offset, response.log_append_time_ms):
            self._accumulator.observer.completed(BatchEventKind.ACKNOWLEDGED, batch)
        self._accumulator.deallocate(batch)

    def _retry(self, batch: ProducerBatch, response: PartitionResponse, now_ms: int) -> None:
        _log.warn(
            "got {code} for {key}, retrying ({left} attempts left): {message}",
            code=response.error_code.name,
            key=batch.topic_partition,
            left=self._retries - batch.attempts - 1,
            message=response.message,
        )
        self._metrics.retried(batch)
        self._accumulator.reenqueue(batch, now_ms)
        self._accumulator.observer.completed(
            BatchEventKind.RETRIED, batch, response.message or "", error=response.error_code.name
        )

    def _split(self, batch: ProducerBatch) -> None:
        _log.warn("{key}: a batch was too large for the broker, splitting it", key=batch.topic_partition)
        self._metrics.split()
        self._accumulator.observer.completed(BatchEventKind.SPLIT, batch, error=ErrorCode.MESSAGE_TOO_LARGE.name)
        if self._transactions is not None:
            self._transactions.remove_in_flight_batch(batch)
        self._accumulator.split_and_reenqueue(batch)
        self._accumulator.deallocate(batch)

    def _can_retry(self, batch: ProducerBatch, response: PartitionResponse, now_ms: int) -> bool:
        if (
            batch.has_reached_delivery_timeout(self._delivery_timeout_ms, now_ms)
            or batch.attempts >= self._retries
            or batch.is_done
        ):
            return False
        if self._transactions is None:
            return response.error_code.retriable
        return self._transactions.can_retry(batch, response.error_code, response.log_start_offset)

    def _fail(self, batch: ProducerBatch, response: PartitionResponse, *, adjust_sequence_numbers: bool) -> None:
        error = error_of(response.error_code, response.message, topic=batch.topic_partition.topic)
        error.maybe_written = batch.maybe_written
        self._metrics.failed(batch)
        if batch.fail(_errors_of_records(response, error)):
            self._accumulator.observer.completed(
                BatchEventKind.FAILED, batch, str(error), error=response.error_code.name
            )
            if self._transactions is not None:
                self._transactions.handle_failed_batch(batch, error, adjust_sequence_numbers=adjust_sequence_numbers)
        self._accumulator.deallocate(batch)


def _errors_of_records(response: PartitionResponse, error: ProducerError) -> Callable[[int], ProducerError]:
    """Each refused record its own error, the others of the batch a general one (KIP-467)."""
    messages = response.record_errors
    if not messages:
        return lambda _: error
    # Only with a single bad record is the partition's code surely that record's.
    code = response.error_code if len(messages) == 1 else ErrorCode.INVALID_RECORD
    by_index: dict[int, ProducerError] = {
        index: BrokerError(code, message or response.message) for index, message in messages.items()
    }
    other = InvalidRecordBatch("the record was in a batch with one or more invalid records, none of it was written")
    return lambda index: by_index.get(index, other)
