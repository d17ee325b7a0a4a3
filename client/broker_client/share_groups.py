"""Acknowledgements of share groups, as applications see them. Mirrors AcknowledgeType and TopicIdPartition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from broker_client.errors import ProducerError
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_client.records import TopicPartition

__all__ = ["AcknowledgeType", "AcknowledgementCommitCallback", "CorruptRecords", "TopicIdPartition"]


class AcknowledgeType(IntEnum):
    """The outcome of one delivery of a record, with its number in requests."""

    ACCEPT = 1
    """The record was processed; it is not delivered again."""
    RELEASE = 2
    """The record was not processed; it is delivered again."""
    REJECT = 3
    """The record cannot be processed; it is not delivered again."""
    RENEW = 4
    """The record is still being processed: its acquisition lock starts again (KIP-1222)."""


class TopicIdPartition(NamedTuple):
    """A partition of one incarnation of a topic: a topic that is deleted and created again has another id."""

    topic: str
    partition: int
    topic_id: bytes

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


AcknowledgementCommitCallback: TypeAlias = Callable[
    [Mapping[TopicIdPartition, frozenset[int]], ProducerError | None], object
]
"""Called with the offsets of one partition whose acknowledgements ended, and with their error or None."""


class CorruptRecords(ProducerError):
    """A fetched batch fails its checksum. Mirrors CorruptRecordException.

    Its records are rejected. Before the next poll, `ShareConsumer.acknowledge_offset` changes that for its `offsets`.
    """

    error_code = ErrorCode.CORRUPT_MESSAGE

    def __init__(self, partition: TopicPartition, offsets: Iterable[int], reason: str) -> None:
        super().__init__(partition, tuple(offsets), reason)
        self.partition = partition
        self.offsets = tuple(offsets)
        self.reason = reason

    def __str__(self) -> str:
        first = self.offsets[0] if self.offsets else "unknown"
        return f"a batch of {self.partition} with the acquired offset {first} is invalid, and rejected: {self.reason}"
