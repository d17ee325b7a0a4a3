"""StreamsGroupCurrentMemberAssignment: the current tasks of a member of a streams group.

Record type 22 of __consumer_offsets.

Mirrors StreamsGroupCurrentMemberAssignmentKey and StreamsGroupCurrentMemberAssignmentValue; KIP-1071.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int8, Int32, String
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@message(kind=Kind.COORDINATOR_KEY, record_type=22, versions="0")
class StreamsGroupCurrentMemberAssignmentKey(Message):
    """The key: the current tasks of a member of a streams group."""

    group_id: str = field(String)
    member_id: str = field(String)


@struct
class TaskIds(Struct):
    """The tasks of one subtopology, by partition."""

    subtopology_id: str = field(String)
    partitions: list[int] = field(Array(Int32))
    assignment_epochs: list[int] | None = field(Array(Int32), nullable="0+", tag=0, tagged="0+")


@message(kind=Kind.COORDINATOR_VALUE, record_type=22, versions="0", flexible="0+")
class StreamsGroupCurrentMemberAssignmentValue(Message):
    """The value: the current tasks of a member of a streams group."""

    member_epoch: int = field(Int32)
    previous_member_epoch: int = field(Int32)
    state: int = field(Int8)
    active_tasks: list[TaskIds] = field(Array(TaskIds))
    standby_tasks: list[TaskIds] = field(Array(TaskIds))
    warmup_tasks: list[TaskIds] = field(Array(TaskIds))
    active_tasks_pending_revocation: list[TaskIds] = field(Array(TaskIds))
    standby_tasks_pending_revocation: list[TaskIds] = field(Array(TaskIds))
    warmup_tasks_pending_revocation: list[TaskIds] = field(Array(TaskIds))
