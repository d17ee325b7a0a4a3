"""ShareGroupTargetAssignmentMember: the target assignment of a member of a share group.

Record type 13 of __consumer_offsets.

Mirrors ShareGroupTargetAssignmentMemberKey and ShareGroupTargetAssignmentMemberValue; KIP-932.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int32, String, Uuid
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@message(kind=Kind.COORDINATOR_KEY, record_type=13, versions="0")
class ShareGroupTargetAssignmentMemberKey(Message):
    """The key: the target assignment of a member of a share group."""

    group_id: str = field(String)
    member_id: str = field(String)


@struct
class TopicPartition(Struct):
    """The partitions of one topic."""

    topic_id: bytes = field(Uuid)
    partitions: list[int] = field(Array(Int32))


@message(kind=Kind.COORDINATOR_VALUE, record_type=13, versions="0", flexible="0+")
class ShareGroupTargetAssignmentMemberValue(Message):
    """The value: the target assignment of a member of a share group."""

    topic_partitions: list[TopicPartition] = field(Array(TopicPartition))
