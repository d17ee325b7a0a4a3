"""The tasks that an assignor has given to one process of an application. Mirrors ProcessState."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.groups.streams.java_priority_queue import JavaPriorityQueue
from protocol_specs.java_hash import hash_order

if TYPE_CHECKING:
    from typing import TypeAlias

    TaskId: TypeAlias = "tuple[str, int]"

__all__ = ["ProcessLoad"]


class _MemberLoad:
    def __init__(self, member_id: str, tasks: int) -> None:
        self.member_id = member_id
        self.tasks = tasks


class ProcessLoad:
    """A process with its members, which are its stream threads. The load is the number of tasks per member."""

    def __init__(self, process_id: str) -> None:
        self.process_id = process_id
        self.tasks: set[TaskId] = set()
        self.active: dict[str, list[TaskId]] = {}
        self.standby: dict[str, list[TaskId]] = {}
        self.tasks_by_member: dict[str, int] = {}
        self.load = 0.0
        self._tasks_count = 0
        self._by_load: JavaPriorityQueue[_MemberLoad] | None = None

    def add_member(self, member_id: str) -> None:
        """Add a member without tasks."""
        self.tasks_by_member[member_id] = 0
        self._update_load()

    def has_task(self, task: TaskId) -> bool:
        """Return True if one of the members has the task, active or standby."""
        return task in self.tasks

    def add_task(self, member_id: str, task: TaskId, *, active: bool) -> int:
        """Give a task to a member, and return the number of its tasks."""
        self._by_load = None
        return self._add_task(member_id, task, active=active)

    def add_task_to_least_loaded(self, task: TaskId, *, active: bool) -> int:
        """Give a task to the member with the fewest tasks, and return the number of its tasks."""
        if len(self.tasks_by_member) == 1:
            return self._add_task(next(iter(self.tasks_by_member)), task, active=active)
        if self._by_load is None:
            members = [_MemberLoad(each, self.tasks_by_member[each]) for each in hash_order(self.tasks_by_member)]
            self._by_load = JavaPriorityQueue(lambda each: each.tasks, members)
        member = self._by_load.poll()
        assert member is not None
        member.tasks = self._add_task(member.member_id, task, active=active)
        self._by_load.add(member)
        return member.tasks

    def _add_task(self, member_id: str, task: TaskId, *, active: bool) -> int:
        self._tasks_count += 1
        self.tasks.add(task)
        (self.active if active else self.standby).setdefault(member_id, []).append(task)
        self.tasks_by_member[member_id] += 1
        self._update_load()
        return self.tasks_by_member[member_id]

    def _update_load(self) -> None:
        self.load = self._tasks_count / len(self.tasks_by_member)
