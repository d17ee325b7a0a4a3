"""The processes that run each task, also those that must still give it up. Mirrors the task maps of StreamsGroup."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from broker_sim.coordinators.groups.streams.tasks import each_task, partitions_of
from broker_sim.coordinators.runtime.snapshot_registry import TimelineDict

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.streams.streams_member import StreamsMember
    from broker_sim.coordinators.groups.streams.tasks import TaskSets
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry

__all__ = ["TaskOwners"]

_Task: TypeAlias = "tuple[str, int]"


class TaskOwners:
    """One process per active task, any number per standby or warm-up task."""

    def __init__(self, snapshots: SnapshotRegistry) -> None:
        self._active: TimelineDict[_Task, str] = TimelineDict(snapshots)
        self._standby: TimelineDict[_Task, frozenset[str]] = TimelineDict(snapshots)
        self._warmup: TimelineDict[_Task, frozenset[str]] = TimelineDict(snapshots)

    def active_process(self, subtopology: str, partition: int) -> str | None:
        """Return the process that runs the active task, None if no process does."""
        return self._active.get((subtopology, partition))

    def has_copy(self, process_id: str, subtopology: str, partition: int) -> bool:
        """Return True if the process has the task as a standby or warm-up task."""
        task = (subtopology, partition)
        return any(process_id in (copies.get(task) or ()) for copies in (self._standby, self._warmup))

    def member_changed(self, old: StreamsMember | None, new: StreamsMember | None) -> None:
        """Replace the tasks of a member; None stands for no member."""
        if old is not None:
            for held in (old.assigned, old.pending_revocation):
                for task in each_task(partitions_of(held.active)):
                    if self._active.get(task) == old.process_id:
                        self._active.pop(task)
                _remove(self._standby, held.standby, old.process_id)
                _remove(self._warmup, held.warmup, old.process_id)
        if new is not None:
            for held in (new.assigned, new.pending_revocation):
                for task in each_task(partitions_of(held.active)):
                    self._active[task] = new.process_id
                _add(self._standby, held.standby, new.process_id)
                _add(self._warmup, held.warmup, new.process_id)


def _remove(copies: TimelineDict[_Task, frozenset[str]], tasks: TaskSets, process_id: str) -> None:
    for task in each_task(tasks):
        left = (copies.get(task) or frozenset()) - {process_id}
        if left:
            copies[task] = left
        else:
            copies.pop(task)


def _add(copies: TimelineDict[_Task, frozenset[str]], tasks: TaskSets, process_id: str) -> None:
    for task in each_task(tasks):
        copies[task] = (copies.get(task) or frozenset()) | {process_id}
