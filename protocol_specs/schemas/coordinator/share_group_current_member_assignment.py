"""ShareGroupCurrentMemberAssignment: the current assignment of a member of a share group.

Record type 14 of __consumer_offsets.

Mirrors ShareGroupCurrentMemberAssignmentKey and ShareGroupCurrentMemberAssignmentValue; KIP-932.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int8, Int32, String, Uuid
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@message(kind=Kind.COORDINATOR_KEY, record_type=14, versions="0")
class ShareGroupCurrentMemberAssignmentKey(Message):
    """The key: the current assignment of a member of a share group."""

    group_id: str = field(String)
    member_id: str = field(String)


@struct
class TopicPartitions(Struct):
    """The partitions of one topic that the member has."""

    topic_id: bytes = field(Uuid)
    partitions: list[int] = field(Array(Int32))


@message(kind=Kind.COORDINATOR_VALUE, record_type=14, versions="0", flexible="0+")
class ShareGroupCurrentMemberAssignmentValue(Message):
    """The value: the current assignment of a member of a share group."""

    member_epoch: int = field(Int32)
    previous_member_epoch: int = field(Int32)
    state: int = field(Int8)
    assigned_partitions: list[TopicPartitions] = field(Array(TopicPartitions))
