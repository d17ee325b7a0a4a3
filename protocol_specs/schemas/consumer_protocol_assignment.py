"""ConsumerProtocolAssignment: what the leader of a classic consumer group assigns to a member.

Mirrors org.apache.kafka.clients.consumer.internals.ConsumerProtocol; KIP-429.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Bytes, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class TopicPartition(Struct):
    """One element of assigned_partitions."""

    topic: str = field(String, map_key=True, entity="topicName")
    partitions: list[int] = field(Array(Int32))


@message(versions="0-3")
class ConsumerProtocolAssignment(Message):
    """What the leader of a classic consumer group assigns to a member."""

    assigned_partitions: list[TopicPartition] = field(Array(TopicPartition))
    user_data: bytes | None = field(Bytes, nullable="0+", default=None)
