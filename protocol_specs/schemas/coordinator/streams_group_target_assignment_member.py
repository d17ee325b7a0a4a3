"""StreamsGroupTargetAssignmentMember: the target tasks of a member of a streams group.

Record type 21 of __consumer_offsets.

Mirrors StreamsGroupTargetAssignmentMemberKey and StreamsGroupTargetAssignmentMemberValue; KIP-1071.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int32, String
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@message(kind=Kind.COORDINATOR_KEY, record_type=21, versions="0")
class StreamsGroupTargetAssignmentMemberKey(Message):
    """The key: the target tasks of a member of a streams group."""

    group_id: str = field(String)
    member_id: str = field(String)


@struct
class TaskIds(Struct):
    """The tasks of one subtopology, by partition."""

    subtopology_id: str = field(String)
    partitions: list[int] = field(Array(Int32))


@message(kind=Kind.COORDINATOR_VALUE, record_type=21, versions="0", flexible="0+")
class StreamsGroupTargetAssignmentMemberValue(Message):
    """The value: the target tasks of a member of a streams group."""

    active_tasks: list[TaskIds] = field(Array(TaskIds))
    standby_tasks: list[TaskIds] = field(Array(TaskIds))
    warmup_tasks: list[TaskIds] = field(Array(TaskIds))
