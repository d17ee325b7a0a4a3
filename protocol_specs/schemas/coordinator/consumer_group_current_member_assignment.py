"""ConsumerGroupCurrentMemberAssignment: the current assignment of a member of a consumer group.

Record type 8 of __consumer_offsets.

Mirrors ConsumerGroupCurrentMemberAssignmentKey and ConsumerGroupCurrentMemberAssignmentValue; KIP-848.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int8, Int32, String, Uuid
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@message(kind=Kind.COORDINATOR_KEY, record_type=8, versions="0")
class ConsumerGroupCurrentMemberAssignmentKey(Message):
    """The key: the current assignment of a member of a consumer group."""

    group_id: str = field(String)
    member_id: str = field(String)


@struct
class TopicPartitions(Struct):
    """The partitions of one topic that the member has."""

    topic_id: bytes = field(Uuid)
    partitions: list[int] = field(Array(Int32))
    assignment_epochs: list[int] | None = field(Array(Int32), nullable="0+", tag=0, tagged="0+")


@message(kind=Kind.COORDINATOR_VALUE, record_type=8, versions="0", flexible="0+")
class ConsumerGroupCurrentMemberAssignmentValue(Message):
    """The value: the current assignment of a member of a consumer group."""

    member_epoch: int = field(Int32)
    previous_member_epoch: int = field(Int32)
    state: int = field(Int8)
    assigned_partitions: list[TopicPartitions] = field(Array(TopicPartitions))
    partitions_pending_revocation: list[TopicPartitions] = field(Array(TopicPartitions))
