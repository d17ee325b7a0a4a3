"""ConsumerGroupTargetAssignmentMember: the target assignment of a member of a consumer group.

Record type 7 of __consumer_offsets.

Mirrors ConsumerGroupTargetAssignmentMemberKey and ConsumerGroupTargetAssignmentMemberValue; KIP-848.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int32, String, Uuid
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@message(kind=Kind.COORDINATOR_KEY, record_type=7, versions="0")
class ConsumerGroupTargetAssignmentMemberKey(Message):
    """The key: the target assignment of a member of a consumer group."""

    group_id: str = field(String)
    member_id: str = field(String)


@struct
class TopicPartition(Struct):
    """The partitions of one topic."""

    topic_id: bytes = field(Uuid)
    partitions: list[int] = field(Array(Int32))


@message(kind=Kind.COORDINATOR_VALUE, record_type=7, versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMemberValue(Message):
    """The value: the target assignment of a member of a consumer group."""

    topic_partitions: list[TopicPartition] = field(Array(TopicPartition))
