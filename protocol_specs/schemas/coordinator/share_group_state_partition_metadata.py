"""ShareGroupStatePartitionMetadata: which share partitions of a share group are set up.

Record type 15 of __consumer_offsets.

Mirrors ShareGroupStatePartitionMetadataKey and ShareGroupStatePartitionMetadataValue; KIP-932.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int32, String, Uuid
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@message(kind=Kind.COORDINATOR_KEY, record_type=15, versions="0")
class ShareGroupStatePartitionMetadataKey(Message):
    """The key: which share partitions of a share group are set up."""

    group_id: str = field(String)


@struct
class TopicPartitionsInfo(Struct):
    """One element of initializing_topics."""

    topic_id: bytes = field(Uuid)
    topic_name: str = field(String)
    partitions: list[int] = field(Array(Int32))


@struct
class TopicInfo(Struct):
    """One element of deleting_topics."""

    topic_id: bytes = field(Uuid)
    topic_name: str = field(String)


@message(kind=Kind.COORDINATOR_VALUE, record_type=15, versions="0", flexible="0+")
class ShareGroupStatePartitionMetadataValue(Message):
    """The value: which share partitions of a share group are set up."""

    initializing_topics: list[TopicPartitionsInfo] = field(Array(TopicPartitionsInfo))
    initialized_topics: list[TopicPartitionsInfo] = field(Array(TopicPartitionsInfo))
    deleting_topics: list[TopicInfo] = field(Array(TopicInfo))
