"""A member of a streams group. Mirrors StreamsGroupMember and its MemberState."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from broker_sim.coordinators.groups.modern.epoch_member import EpochMember
from broker_sim.coordinators.groups.streams.tasks import NO_HELD_TASKS, HeldTasks

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["StreamsMember", "TaskState"]


class TaskState(Enum):
    """The progress of a member towards its target assignment; the values are those of records."""

    STABLE = 1
    UNREVOKED_TASKS = 2
    """The member must give up tasks before it gets a new epoch."""
    UNRELEASED_TASKS = 3
    """Other members have not given up all tasks of the target assignment."""
    UNKNOWN = 127

    @classmethod
    def from_value(cls, value: int) -> TaskState:
        """Return the state of a record's value; UNKNOWN for one that this release does not have."""
        return cls(value) if value in (1, 2, 3) else cls.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsMember(EpochMember):
    """The process and the tasks of a member."""

    previous_member_epoch: int = 0
    state: TaskState = TaskState.STABLE
    topology_epoch: int = -1
    process_id: str = ""
    user_endpoint: tuple[str, int] | None = None
    """Host and port of the interactive queries (`application.server`)."""
    client_tags: Mapping[str, str] = field(default_factory=dict)
    assigned: HeldTasks = NO_HELD_TASKS
    pending_revocation: HeldTasks = NO_HELD_TASKS

    @property
    def is_stable(self) -> bool:
        """True if the member has the target assignment of its epoch."""
        return self.state is TaskState.STABLE

    @property
    def must_revoke(self) -> bool:
        """True if the member must revoke tasks before it gets a new epoch."""
        return self.state is TaskState.UNREVOKED_TASKS
