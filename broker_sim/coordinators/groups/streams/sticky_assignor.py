"""The task assignor "sticky", the only one of streams groups. Mirrors StickyTaskAssignor.

Active tasks go to the member that had them, else to one that had a standby copy, else to the least loaded process.
Standby tasks follow, each on another process than the task's other copies. A member gets no more than its share while
others can have the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.groups.streams.java_priority_queue import JavaPriorityQueue
from broker_sim.coordinators.groups.streams.process_load import ProcessLoad
from broker_sim.coordinators.groups.streams.tasks import Tasks, each_task
from protocol_specs.java_hash import fields_hash, hash_order, hash_order_by, hash_order_of_sized, string_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeAlias

    from broker_sim.coordinators.groups.streams.configured_topology import ConfiguredSubtopology
    from broker_sim.coordinators.groups.streams.tasks import TaskSets

    TaskId: TypeAlias = "tuple[str, int]"

__all__ = ["STANDBY_REPLICAS", "TaskMember", "assign_tasks"]

STANDBY_REPLICAS: Final = "num.standby.replicas"
"""The name of the assignor's only configuration."""


@dataclass(frozen=True, slots=True)
class TaskMember:
    """A member as the assignor sees it: its process, and its previous target assignment."""

    process_id: str
    previous: Tasks


def assign_tasks(
    members: Mapping[str, TaskMember], subtopologies: Mapping[str, ConfiguredSubtopology], standby_replicas: int
) -> dict[str, Tasks]:
    """Return the tasks of each member; members and subtopologies come in Kafka's order of them."""
    return _Assignment(members, subtopologies, standby_replicas).run()


class _Quota:
    """The number of tasks that a member may have while others have less; full members leave the rest to the others."""

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks = tasks
        self._members = members
        self.per_member = _share(tasks, members)

    def member_has(self, count: int) -> None:
        """A member has got a task and has `count` now."""
        if count == self.per_member:
            self._members -= 1
            self._tasks -= count
            self.per_member = _share(self._tasks, self._members)


def _share(tasks: int, members: int) -> int:
    return -(-tasks // members) if members else 0


class _Assignment:
    """One run of the assignor."""

    def __init__(
        self,
        members: Mapping[str, TaskMember],
        subtopologies: Mapping[str, ConfiguredSubtopology],
        standby_replicas: int,
    ) -> None:
        self._members = members
        self._subtopologies = subtopologies
        self._replicas = standby_replicas
        active = sum(each.tasks for each in subtopologies.values())
        standby = sum(each.tasks * standby_replicas for each in subtopologies.values() if each.is_stateful)
        self._active_quota = _Quota(active, len(members))
        self._quota = _Quota(active + standby, len(members))
        self._previous_active: dict[TaskId, str] = {}
        self._previous_standby: dict[TaskId, list[str]] = {}
        processes: dict[str, ProcessLoad] = {}
        for member_id, member in members.items():
            process = processes.setdefault(member.process_id, ProcessLoad(member.process_id))
            process.add_member(member_id)
            for task in each_task(member.previous.active):
                self._previous_active[task] = member_id
            for task in each_task(member.previous.standby):
                self._previous_standby.setdefault(task, []).append(member_id)
        self._processes = {each: processes[each] for each in hash_order_of_sized(processes, len(members))}

    def run(self) -> dict[str, Tasks]:
        """Return the tasks of each member."""
        self._assign_active([task for name, each in self._subtopologies.items() for task in _tasks_of(name, each)])
        if self._replicas > 0:
            stateful = {name: each for name, each in self._subtopologies.items() if each.is_stateful}
            self._assign_standby([task for name, each in stateful.items() for task in _tasks_of(name, each)])
        return {
            member_id: Tasks(
                _by_subtopology(self._process_of(member_id).active.get(member_id, ())),
                _by_subtopology(self._process_of(member_id).standby.get(member_id, ())),
            )
            for member_id in self._members
        }

    def _process_of(self, member_id: str) -> ProcessLoad:
        return self._processes[self._members[member_id].process_id]

    def _count(self, member_id: str) -> int:
        return self._process_of(member_id).tasks_by_member[member_id]

    # Active tasks.

    def _assign_active(self, tasks: list[TaskId]) -> None:
        left = []
        for task in sorted(tasks, key=_by_partition):
            previous = self._previous_active.get(task)
            if not self._give_active(previous, task):
                left.append(task)
        rest = []
        for task in left:
            holder = self._least_loaded(self._previous_standby.get(task), None)
            if not self._give_active(holder, task):
                rest.append(task)
        queue = JavaPriorityQueue(_load, self._processes.values())
        for task in sorted(rest):
            process = queue.poll()
            assert process is not None
            count = process.add_task_to_least_loaded(task, active=True)
            self._active_quota.member_has(count)
            self._quota.member_has(count)
            queue.add(process)

    def _give_active(self, member_id: str | None, task: TaskId) -> bool:
        """Give a task to a member whose share is not full; return False if it is, or if there is no member."""
        if member_id is None or self._count(member_id) >= self._active_quota.per_member:
            return False
        count = self._process_of(member_id).add_task(member_id, task, active=True)
        self._active_quota.member_has(count)
        self._quota.member_has(count)
        return True

    def _least_loaded(self, members: list[str] | None, task: TaskId | None) -> str | None:
        """Return the member with the least loaded process, and the fewest tasks; None if the first one's has the task.

        Mirrors findPrevMemberWithLeastLoad, which checks the first process, not that of its result.
        """
        if not members:
            return None
        found = members[0]
        first = self._process_of(found)
        load, count = first.load, self._count(found)
        for member_id in members[1:]:
            process = self._process_of(member_id)
            if process.load < load and (task is None or not process.has_task(task)) and self._count(member_id) < count:
                load, count, found = process.load, self._count(member_id), member_id
        return None if task is not None and first.has_task(task) else found

    # Standby tasks.

    def _assign_standby(self, tasks: list[TaskId]) -> None:
        left: list[tuple[TaskId, int]] = []
        for task in sorted(tasks, key=_by_partition, reverse=True):
            for replica in range(self._replicas):
                holder = self._previous_active.get(task)
                if (
                    holder is not None
                    and not self._process_of(holder).has_task(task)
                    and self._give_standby(holder, task)
                ):
                    continue
                if self._give_standby(self._least_loaded(self._previous_standby.get(task), task), task):
                    continue
                left.append((task, self._replicas - replica))
                break
        queue = JavaPriorityQueue(_load, self._processes.values())
        for task, replicas in sorted(left, reverse=True):
            for _ in range(replicas):
                if not self._give_to_least_loaded(queue, task):
                    break

    def _give_standby(self, member_id: str | None, task: TaskId) -> bool:
        if member_id is None or self._count(member_id) >= self._quota.per_member:
            return False
        self._quota.member_has(self._process_of(member_id).add_task(member_id, task, active=False))
        return True

    def _give_to_least_loaded(self, queue: JavaPriorityQueue[ProcessLoad], task: TaskId) -> bool:
        """Give a task to the least loaded process without it; return False if every process has it."""
        polled: list[ProcessLoad] = []
        given = False
        while not given and (process := queue.poll()) is not None:
            polled.append(process)
            if not process.has_task(task):
                self._quota.member_has(process.add_task_to_least_loaded(task, active=False))
                given = True
        for process in reversed(polled):
            queue.add(process)
        return given


def _by_partition(task: TaskId) -> tuple[int, str]:
    """Return the key by which members keep tasks: the first partitions of all subtopologies come first."""
    subtopology, partition = task
    return partition, subtopology


def _load(process: ProcessLoad) -> float:
    return process.load


def _tasks_of(name: str, subtopology: ConfiguredSubtopology) -> list[TaskId]:
    return [(name, partition) for partition in range(subtopology.tasks)]


def _by_subtopology(tasks: Iterable[TaskId]) -> TaskSets:
    """Return tasks in the order of the map that a set of them is gathered into. Mirrors toCompactedTaskIds."""
    found: dict[str, set[int]] = {}
    for subtopology, partition in hash_order_by(tasks, _task_hash):
        found.setdefault(subtopology, set()).add(partition)
    return {subtopology: frozenset(found[subtopology]) for subtopology in hash_order(found)}


def _task_hash(task: TaskId) -> int:
    subtopology, partition = task
    return fields_hash(string_hash(subtopology), partition)
