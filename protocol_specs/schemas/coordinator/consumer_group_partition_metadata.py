"""ConsumerGroupPartitionMetadata: the partition counts behind an assignment; not written since 4.1.

Record type 4 of __consumer_offsets.

Mirrors ConsumerGroupPartitionMetadataKey and ConsumerGroupPartitionMetadataValue; KIP-848.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int32, String, Uuid
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@message(kind=Kind.COORDINATOR_KEY, record_type=4, versions="0")
class ConsumerGroupPartitionMetadataKey(Message):
    """The key: the partition counts behind an assignment; not written since 4.1."""

    group_id: str = field(String)


@struct
class PartitionMetadata(Struct):
    """The racks of the replicas of one partition."""

    partition: int = field(Int32)
    racks: list[str] = field(Array(String))


@struct
class TopicMetadata(Struct):
    """One topic with its partition count."""

    topic_id: bytes = field(Uuid)
    topic_name: str = field(String)
    num_partitions: int = field(Int32)
    partition_metadata: list[PartitionMetadata] = field(Array(PartitionMetadata))


@message(kind=Kind.COORDINATOR_VALUE, record_type=4, versions="0", flexible="0+")
class ConsumerGroupPartitionMetadataValue(Message):
    """The value: the partition counts behind an assignment; not written since 4.1."""

    topics: list[TopicMetadata] = field(Array(TopicMetadata))
