"""ShareGroupStatePartitionMetadata: the initialization state of share partitions.

Record type 15 of __consumer_offsets.

Mirrors ShareGroupStatePartitionMetadataKey and ShareGroupStatePartitionMetadataValue; KIP-932.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int32, String, Uuid
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@message(kind=Kind.COORDINATOR_KEY, record_type=15, versions="0")
class ShareGroupStatePartitionMetadataKey(Message):
    """The key: the initialization state of share partitions."""

    group_id: str = field(String)


@struct
class TopicPartitionsInfo(Struct):
    """The share partitions of one topic."""

    topic_id: bytes = field(Uuid)
    topic_name: str = field(String)
    partitions: list[int] = field(Array(Int32))


@struct
class TopicInfo(Struct):
    """A topic whose share partitions are being deleted."""

    topic_id: bytes = field(Uuid)
    topic_name: str = field(String)


@message(kind=Kind.COORDINATOR_VALUE, record_type=15, versions="0", flexible="0+")
class ShareGroupStatePartitionMetadataValue(Message):
    """The value: the initialization state of share partitions."""

    initializing_topics: list[TopicPartitionsInfo] = field(Array(TopicPartitionsInfo))
    initialized_topics: list[TopicPartitionsInfo] = field(Array(TopicPartitionsInfo))
    deleting_topics: list[TopicInfo] = field(Array(TopicInfo))
