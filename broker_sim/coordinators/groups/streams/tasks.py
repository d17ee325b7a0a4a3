"""Sets of tasks, with and without the epochs of their assignment. Mirrors TasksTuple and TasksTupleWithEpochs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar

from protocol_specs.java_hash import hash_order, hash_order_of_copied_integers, hash_order_of_merged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = [
    "NO_HELD_TASKS",
    "NO_TASKS",
    "HeldTasks",
    "TaskEpochs",
    "TaskSets",
    "Tasks",
    "each_task",
    "in_hash_order",
    "partitions_of",
    "sorted_tasks",
    "task_sets",
]

TaskSets: TypeAlias = "Mapping[str, frozenset[int]]"
"""Subtopology id -> partitions, in the order of Java's map of them; subtopologies without tasks are absent."""
TaskEpochs: TypeAlias = "Mapping[str, Mapping[int, int]]"
"""Subtopology id -> partition -> the epoch of the assignment that gave the task to its member."""

T = TypeVar("T")


class _TaskIds(Protocol):
    subtopology_id: str
    partitions: list[int]


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of a target assignment, or those that a member reports as its own."""

    active: TaskSets = field(default_factory=dict)
    standby: TaskSets = field(default_factory=dict)
    warmup: TaskSets = field(default_factory=dict)

    def is_empty(self) -> bool:
        """Return True if there are no tasks."""
        return not (self.active or self.standby or self.warmup)


@dataclass(frozen=True, slots=True)
class HeldTasks:
    """The tasks that a member has, or must give up; active ones with the epoch of their assignment."""

    active: TaskEpochs = field(default_factory=dict)
    standby: TaskSets = field(default_factory=dict)
    warmup: TaskSets = field(default_factory=dict)

    def is_empty(self) -> bool:
        """Return True if there are no tasks."""
        return not (self.active or self.standby or self.warmup)

    def merged_with(self, other: HeldTasks) -> HeldTasks:
        """Return the tasks of both; partitions are in the order of Java's copy of the first, which endpoints show."""
        active = {}
        for subtopology in hash_order_of_merged(list(self.active), list(other.active)):
            both = {**self.active.get(subtopology, {}), **other.active.get(subtopology, {})}
            order = hash_order_of_copied_integers(self.active.get(subtopology, both), both)
            active[subtopology] = {partition: both[partition] for partition in order}
        return HeldTasks(active, _union(self.standby, other.standby), _union(self.warmup, other.warmup))

    def as_text(self) -> str:
        """Return such as `active 0_1, 0_2; standby 1_0`: Kafka Streams names tasks so."""
        kinds = (("active", partitions_of(self.active)), ("standby", self.standby), ("warmup", self.warmup))
        return "; ".join(
            f"{kind} " + ", ".join(f"{name}_{partition}" for name, partition in each_task(tasks))
            for kind, tasks in kinds
            if tasks
        )

    def overlaps(self, tasks: Tasks) -> bool:
        """Return True if one of the tasks is also in the other set, as the same kind of task."""
        return (
            _overlap(partitions_of(self.active), tasks.active)
            or _overlap(self.standby, tasks.standby)
            or _overlap(self.warmup, tasks.warmup)
        )


NO_TASKS: Final = Tasks()
NO_HELD_TASKS: Final = HeldTasks()


def _union(first: TaskSets, second: TaskSets) -> TaskSets:
    nothing: frozenset[int] = frozenset()
    return {
        subtopology: first.get(subtopology, nothing) | second.get(subtopology, nothing)
        for subtopology in hash_order_of_merged(list(first), list(second))
    }


def _overlap(first: TaskSets, second: TaskSets) -> bool:
    return any(partitions & second.get(subtopology, frozenset()) for subtopology, partitions in first.items())


def partitions_of(epochs: TaskEpochs) -> TaskSets:
    """Return tasks without their epochs."""
    return {subtopology: frozenset(partitions) for subtopology, partitions in epochs.items()}


def task_sets(listed: Iterable[_TaskIds] | None) -> TaskSets:
    """Return the tasks of a request or record; a subtopology that is listed twice has the partitions of both."""
    found: dict[str, frozenset[int]] = {}
    for each in listed or ():
        found[each.subtopology_id] = found.get(each.subtopology_id, frozenset()) | frozenset(each.partitions)
    return {subtopology: found[subtopology] for subtopology in hash_order(found)}


def sorted_tasks(tasks: TaskSets, task_ids: Callable[..., T]) -> list[T]:
    """Return `task_ids(subtopology_id=..., partitions=...)` per subtopology, by its id, as records list them."""
    return [
        task_ids(subtopology_id=subtopology, partitions=sorted(tasks[subtopology])) for subtopology in sorted(tasks)
    ]


def in_hash_order(tasks: TaskSets, task_ids: Callable[..., T]) -> list[T]:
    """Return the same in the order of Java's map, as a heartbeat's response lists them."""
    return [task_ids(subtopology_id=subtopology, partitions=sorted(each)) for subtopology, each in tasks.items()]


def each_task(tasks: TaskSets) -> Iterator[tuple[str, int]]:
    """Iterate over subtopology and partition of each task."""
    for subtopology, partitions in tasks.items():
        for partition in sorted(partitions):
            yield subtopology, partition
