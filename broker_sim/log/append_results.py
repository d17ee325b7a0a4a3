"""Results of appends to a leader's log, and the errors that refuse them. Mirrors LogAppendInfo and the exceptions that
ReplicaManager.appendToLocalLog maps to responses.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from broker_sim.errors import BrokerSimError
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.log.stored_batch import StoredBatch
    from broker_sim.topic_partition import TopicPartition

UNKNOWN_OFFSET: Final = -1


class AppendOrigin(Enum):
    """The origin of an append, which decides which checks apply. Mirrors AppendOrigin."""

    CLIENT = auto()
    COORDINATOR = auto()
    REPLICATION = auto()


# Not slotted, so that a log sets only what differs from the defaults: one is made per batch.
@dataclass
class PartitionAppend:
    """The result of an append to one partition, first of the log and then of the wait for replicas.

    Mirrors LogAppendInfo and ProduceResponse.PartitionResponse. For a duplicate the offsets are those of the first
    append, and the time is its timestamp. With REQUEST_TIMED_OUT the base offset is the real one.
    """

    topic_partition: TopicPartition
    error_code: ErrorCode = ErrorCode.NONE
    base_offset: int = UNKNOWN_OFFSET
    last_offset: int = UNKNOWN_OFFSET
    log_append_time_ms: int = -1
    """The broker's time on a LogAppendTime topic, the batch's max timestamp for a duplicate, else -1."""
    log_start_offset: int = UNKNOWN_OFFSET
    records_count: int = 0
    batches: Sequence[StoredBatch] = ()
    """The appended batches; empty for a duplicate."""
    duplicate: bool = False
    record_errors: Sequence[RecordError] = ()
    error_message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordError:
    """One refused record (KIP-467): its index in the batch, and the reason."""

    batch_index: int
    message: str


class RecordsRefused(BrokerSimError):
    """The log refuses records; the attributes fill the partition's part of the Produce response.

    `message` is the error message of the response (None for most errors, as in Kafka); `reason` is for log lines and is
    always set. `log_start_offset_known` is false for the errors whose response has log start offset -1.
    """

    def __init__(
        self,
        error_code: ErrorCode,
        reason: str,
        *,
        message: str | None = None,
        record_errors: Sequence[RecordError] = (),
        log_start_offset_known: bool = True,
    ) -> None:
        super().__init__(error_code, reason)
        self.error_code = error_code
        self.reason = reason
        self.message = message
        self.record_errors = record_errors
        self.log_start_offset_known = log_start_offset_known

    def __str__(self) -> str:
        return f"{self.error_code.name}: {self.reason}"


class OffsetOutOfRange(BrokerSimError):
    """A read outside of the log. Mirrors OffsetOutOfRangeException."""

    def __init__(self, offset: int, log_start_offset: int, log_end_offset: int) -> None:
        super().__init__(offset, log_start_offset, log_end_offset)
        self.offset = offset
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset

    def __str__(self) -> str:
        return f"offset {self.offset} is not in the log [{self.log_start_offset}, {self.log_end_offset}]"


class UnexpectedAppendOffset(BrokerSimError):
    """A follower's batch starts before the end of its log. Mirrors UnexpectedAppendOffsetException."""

    def __init__(self, base_offset: int, log_end_offset: int) -> None:
        super().__init__(base_offset, log_end_offset)
        self.base_offset = base_offset
        self.log_end_offset = log_end_offset

    def __str__(self) -> str:
        return f"batch at offset {self.base_offset} is below the log end offset {self.log_end_offset}"
