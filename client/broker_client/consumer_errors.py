"""The errors of consumers and of their groups, each with the Kafka exception that it mirrors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.errors import (
    BrokerError,
    ConfigError,
    ConnectionFailed,
    IllegalState,
    ProducerError,
    ProducerTimeout,
    SerializationError,
)
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_client.core.consumer.fetched_batches import ConsumerRecord

__all__ = [
    "CommitFailed",
    "ConcurrentAccess",
    "FencedInstanceId",
    "GroupAuthorizationFailed",
    "GroupMaxSizeReached",
    "InvalidGroupId",
    "LogTruncated",
    "NoOffsetForPartition",
    "RebalanceCallbackFailed",
    "RebalanceInProgress",
    "RecordDeserializationError",
    "RetriableCommitFailed",
    "WakeupError",
    "group_error",
    "is_retriable",
]


class NoOffsetForPartition(ProducerError):
    """A partition has no position, and auto.offset.reset=none chooses none."""

    def __init__(self, partition: TopicPartition) -> None:
        super().__init__(partition)
        self.partition = partition

    def __str__(self) -> str:
        return f"{self.partition} has no position: seek, or set auto.offset.reset to earliest or latest"


class LogTruncated(BrokerError):
    """Records that were read are no longer in the log after an unclean election; auto.offset.reset is none (KIP-320).

    `divergent_offset` is the offset at which the logs differ, None if the leader does not know it; seek there to
    continue.
    """

    def __init__(self, partition: TopicPartition, position: int, divergent_offset: int | None) -> None:
        where = "at an offset that is unknown" if divergent_offset is None else f"at offset {divergent_offset}"
        super().__init__(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"the log of {partition} was truncated below position {position}: it diverges {where}; "
            "auto.offset.reset would choose another",
        )
        self.args = (partition, position, divergent_offset)
        self.partition = partition
        self.position = position
        self.divergent_offset = divergent_offset


class RecordDeserializationError(SerializationError):
    """key.deserializer or value.deserializer raised for a record; `__cause__` is its error.

    Mirrors RecordDeserializationException. The position of a Consumer stays at the record: seek past it to read on. A
    ShareConsumer releases the record; `acknowledge_offset` changes that before the next poll. `origin` is "key" or
    "value", `record` has both as bytes. `outcome` ends the text.
    """

    def __init__(self, origin: str, record: ConsumerRecord, reason: Exception, outcome: str) -> None:
        super().__init__(
            f"{origin}.deserializer raised for the record of {record.topic}-{record.partition} at offset "
            f"{record.offset}: {type(reason).__name__}: {reason}; {outcome}"
        )
        self.origin = origin
        self.partition = TopicPartition(record.topic, record.partition)
        self.offset = record.offset
        self.record = record


class ConcurrentAccess(IllegalState):
    """Another thread is in a call of the consumer. Mirrors ConcurrentModificationException."""

    def __init__(self, caller: str, owner: int) -> None:
        super().__init__(
            f"a consumer is not safe for multi-threaded access: thread {caller} called while thread {owner} is in a "
            "call of it; only wakeup is for any thread"
        )


class WakeupError(ProducerError):
    """`wakeup` was called during the call or before it. Mirrors WakeupException."""

    def __init__(self) -> None:
        super().__init__("the call was ended by wakeup()")


class InvalidGroupId(ConfigError):
    """The call needs a consumer with a `group.id`. Mirrors InvalidGroupIdException."""

    error_code = ErrorCode.INVALID_GROUP_ID


class CommitFailed(ProducerError):
    """Offsets were refused because the member is no longer part of the group. Mirrors CommitFailedException."""

    error_code = ErrorCode.UNKNOWN_MEMBER_ID

    def __init__(self, text: str | None = None) -> None:
        super().__init__(
            text
            or "the group has rebalanced and assigned the partitions to another member: poll was not called for longer "
            "than max.poll.interval.ms; raise it, or lower max.poll.records"
        )


class RetriableCommitFailed(ProducerError):
    """A commit failed in a way that the next one may not; `__cause__` is the reason.

    Mirrors RetriableCommitFailedException.
    """

    def __init__(self, reason: ProducerError | None = None) -> None:
        super().__init__(f"the commit failed and may be retried: {reason}" if reason else "the commit may be retried")
        self.__cause__ = reason


class RebalanceInProgress(BrokerError):
    """The group is rebalancing: poll, then commit again. Mirrors RebalanceInProgressException."""

    def __init__(self, text: str | None = None) -> None:
        super().__init__(ErrorCode.REBALANCE_IN_PROGRESS, text)


class FencedInstanceId(BrokerError):
    """Another consumer has joined with the same `group.instance.id`. Mirrors FencedInstanceIdException."""

    def __init__(self, text: str | None = None) -> None:
        super().__init__(ErrorCode.FENCED_INSTANCE_ID, text)


class GroupAuthorizationFailed(BrokerError):
    """The client may not read the group. Mirrors GroupAuthorizationException."""

    def __init__(self, group_id: str) -> None:
        super().__init__(ErrorCode.GROUP_AUTHORIZATION_FAILED, f"not authorized to access group {group_id!r}")
        self.group_id = group_id


class GroupMaxSizeReached(BrokerError):
    """The group has as many members as the broker allows. Mirrors GroupMaxSizeReachedException."""

    def __init__(self, group_id: str) -> None:
        text = f"group {group_id!r} already has the configured maximum number of members (group.max.size)"
        super().__init__(ErrorCode.GROUP_MAX_SIZE_REACHED, text)
        self.group_id = group_id


class RebalanceCallbackFailed(ProducerError):
    """A rebalance listener raised; `__cause__` is its error. Mirrors KafkaException of a user rebalance callback."""

    def __init__(self, reason: BaseException) -> None:
        super().__init__(f"the rebalance listener raised {type(reason).__name__}: {reason}")
        self.__cause__ = reason


def group_error(code: ErrorCode, group_id: str, message: str | None = None) -> ProducerError:
    """Return the error for a code in the response of a group coordinator."""
    if code is ErrorCode.GROUP_AUTHORIZATION_FAILED:
        return GroupAuthorizationFailed(group_id)
    if code is ErrorCode.GROUP_MAX_SIZE_REACHED:
        return GroupMaxSizeReached(group_id)
    if code is ErrorCode.FENCED_INSTANCE_ID:
        return FencedInstanceId(message)
    if code is ErrorCode.REBALANCE_IN_PROGRESS:
        return RebalanceInProgress(message)
    return BrokerError(code, message)


def is_retriable(error: BaseException) -> bool:
    """True if the same request may succeed later. Mirrors RetriableException."""
    if isinstance(error, BrokerError):
        return error.retriable
    return isinstance(error, (ConnectionFailed, ProducerTimeout))
