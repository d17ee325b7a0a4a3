"""ConsumerProtocolSubscription: the subscription of one member of a classic consumer group.

Mirrors org.apache.kafka.clients.consumer.internals.ConsumerProtocol; KIP-429, KIP-792, KIP-881.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Bytes, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class TopicPartition(Struct):
    """The partitions of one topic that the member owns (KIP-429)."""

    topic: str = field(String, versions="1+", map_key=True, entity="topicName")
    partitions: list[int] = field(Array(Int32), versions="1+")


@message(versions="0-3")
class ConsumerProtocolSubscription(Message):
    """The subscription of one member of a classic consumer group."""

    topics: list[str] = field(Array(String))
    user_data: bytes | None = field(Bytes, nullable="0+", default=None)
    owned_partitions: list[TopicPartition] = field(Array(TopicPartition), versions="1+", ignorable=True)
    generation_id: int = field(Int32, versions="2+", default=-1, ignorable=True)
    rack_id: str | None = field(String, versions="3+", nullable="3+", default=None, ignorable=True)
