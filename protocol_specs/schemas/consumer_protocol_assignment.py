"""ConsumerProtocolAssignment: the assignment of one member of a classic consumer group, by the group leader.

Mirrors org.apache.kafka.clients.consumer.internals.ConsumerProtocol; KIP-429.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Bytes, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class TopicPartition(Struct):
    """The assigned partitions of one topic."""

    topic: str = field(String, map_key=True, entity="topicName")
    partitions: list[int] = field(Array(Int32))


@message(versions="0-3")
class ConsumerProtocolAssignment(Message):
    """The assignment of one member of a classic consumer group, by the group leader."""

    assigned_partitions: list[TopicPartition] = field(Array(TopicPartition))
    user_data: bytes | None = field(Bytes, nullable="0+", default=None)
