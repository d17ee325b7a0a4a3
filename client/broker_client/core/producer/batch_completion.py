"""What a broker's word about a batch leads to: done, again, in parts, or failed.

Mirrors Sender.completeBatch and failBatch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_client.core.producer.trace import BatchEventKind
from broker_client.errors import BatchExpired, BrokerError, InvalidRecordBatch, ProducerError, error_of
from broker_client.records import NO_OFFSET, NO_TIMESTAMP
from protocol_specs.error_codes import ErrorCode, ErrorFamily

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.core.batching.record_accumulator import RecordAccumulator
    from broker_client.core.metrics.sender_metrics import SenderMetrics
    from broker_client.core.network.metadata import Metadata
    from broker_client.core.transactions.producer_id_state import ProducerIdState

__all__ = ["BatchCompletion", "PartitionAnswer"]

# After these nobody can tell whether the batch is in the log.
_AMBIGUOUS: Final = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.UNKNOWN_SERVER_ERROR,
)
_TELLING_THE_LEADER: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
_log = Logger()


@dataclass(slots=True, kw_only=True)
class PartitionAnswer:
    """A partition's part of a produce response, or what stands for it when none came."""

    error_code: ErrorCode
    base_offset: int = NO_OFFSET
    log_append_time_ms: int = NO_TIMESTAMP
    log_start_offset: int = NO_OFFSET
    message: str | None = None
    record_errors: Mapping[int, str | None] = field(default_factory=dict)

    @property
    def tells_leader(self) -> bool:
        """Whether `current_leader` of the response means something (KIP-951)."""
        return self.error_code in _TELLING_THE_LEADER


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

    def complete(self, batch: ProducerBatch, answer: PartitionAnswer, now_ms: int) -> None:
        """A request that carried the batch has ended."""
        code = answer.error_code
        if code is ErrorCode.NONE:
            self._succeed(batch, answer)
            return
        if code in _AMBIGUOUS:
            batch.maybe_written = True
        if code is ErrorCode.MESSAGE_TOO_LARGE and batch.can_split:
            self._split(batch)
        elif self._can_retry(batch, answer, now_ms):
            self._retry(batch, answer, now_ms)
        elif code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            # It is in the log; the broker has forgotten where.
            self._succeed(batch, PartitionAnswer(error_code=ErrorCode.NONE))
        else:
            # With attempts used up nobody knows whether the sequence was; else it surely was not.
            self._fail(batch, answer, adjust_sequence_numbers=batch.attempts < self._retries)
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

    def _succeed(self, batch: ProducerBatch, answer: PartitionAnswer) -> None:
        if self._transactions is not None:
            self._transactions.handle_completed_batch(batch, answer.base_offset)
        if batch.complete(answer.base_offset, answer.log_append_time_ms):
            self._accumulator.observer.completed(BatchEventKind.ACKNOWLEDGED, batch)
        self._accumulator.deallocate(batch)

    def _retry(self, batch: ProducerBatch, answer: PartitionAnswer, now_ms: int) -> None:
        _log.warn(
            "got {code} for {key}, retrying ({left} attempts left): {message}",
            code=answer.error_code.name,
            key=batch.topic_partition,
            left=self._retries - batch.attempts - 1,
            message=answer.message,
        )
        self._metrics.retried(batch)
        self._accumulator.reenqueue(batch, now_ms)
        self._accumulator.observer.completed(
            BatchEventKind.RETRIED, batch, answer.message or "", error=answer.error_code.name
        )

    def _split(self, batch: ProducerBatch) -> None:
        _log.warn("{key}: a batch was too large for the broker, splitting it", key=batch.topic_partition)
        self._metrics.split()
        self._accumulator.observer.completed(BatchEventKind.SPLIT, batch, error=ErrorCode.MESSAGE_TOO_LARGE.name)
        if self._transactions is not None:
            self._transactions.remove_in_flight_batch(batch)
        self._accumulator.split_and_reenqueue(batch)
        self._accumulator.deallocate(batch)

    def _can_retry(self, batch: ProducerBatch, answer: PartitionAnswer, now_ms: int) -> bool:
        if (
            batch.has_reached_delivery_timeout(self._delivery_timeout_ms, now_ms)
            or batch.attempts >= self._retries
            or batch.is_done
        ):
            return False
        if self._transactions is None:
            return answer.error_code.retriable
        return self._transactions.can_retry(batch, answer.error_code, answer.log_start_offset)

    def _fail(self, batch: ProducerBatch, answer: PartitionAnswer, *, adjust_sequence_numbers: bool) -> None:
        error = error_of(answer.error_code, answer.message, topic=batch.topic_partition.topic)
        error.maybe_written = batch.maybe_written
        self._metrics.failed(batch)
        if batch.fail(_errors_of_records(answer, error)):
            self._accumulator.observer.completed(BatchEventKind.FAILED, batch, str(error), error=answer.error_code.name)
            if self._transactions is not None:
                self._transactions.handle_failed_batch(batch, error, adjust_sequence_numbers=adjust_sequence_numbers)
        self._accumulator.deallocate(batch)


def _errors_of_records(answer: PartitionAnswer, error: ProducerError) -> Callable[[int], ProducerError]:
    """Each refused record its own error, the others of the batch a general one (KIP-467)."""
    told = answer.record_errors
    if not told:
        return lambda _: error
    # Only with a single bad record is the partition's code surely that record's.
    code = answer.error_code if len(told) == 1 else ErrorCode.INVALID_RECORD
    by_index: dict[int, ProducerError] = {
        index: BrokerError(code, message or answer.message) for index, message in told.items()
    }
    other = InvalidRecordBatch("the record was in a batch with one or more invalid records, none of it was written")
    return lambda index: by_index.get(index, other)
