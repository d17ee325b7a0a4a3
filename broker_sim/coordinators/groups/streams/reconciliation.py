"""The next tasks of a member on its way to its target assignment. Mirrors CurrentAssignmentBuilder of streams groups.

A task is free for an active member if no process runs it; a standby or warm-up task if its member's own process does
not have it in any form. The process that has an active task also keeps it from standby tasks of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.streams.streams_member import TaskState
from broker_sim.coordinators.groups.streams.tasks import NO_HELD_TASKS, HeldTasks
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order, hash_order_of_set

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from broker_sim.coordinators.groups.streams.streams_member import StreamsMember
    from broker_sim.coordinators.groups.streams.task_owners import TaskOwners
    from broker_sim.coordinators.groups.streams.tasks import TaskEpochs, Tasks, TaskSets

__all__ = ["reconciled"]

T = TypeVar("T")


def reconciled(
    member: StreamsMember, *, target_epoch: int, target: Tasks, owners: TaskOwners, owned: Tasks | None
) -> StreamsMember:
    """Return the member after a heartbeat that lists `owned` tasks, None if it lists none.

    Raises:
        CoordinatorError: FENCED_MEMBER_EPOCH: the member's state is that of a newer release.
    """
    step = _Step(member, target_epoch, target, owners, owned)
    if member.state is TaskState.STABLE:
        return member if member.member_epoch == target_epoch else step.next_member(member.member_epoch)
    if member.state is TaskState.UNREVOKED_TASKS:
        if owned is None or member.pending_revocation.overlaps(owned):
            return member
        return step.next_member(member.member_epoch + 1)
    if member.state is TaskState.UNRELEASED_TASKS:
        return step.next_member(member.member_epoch)
    if owned is None or not owned.is_empty():
        raise CoordinatorError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            "The streams group member is in a unknown state. The member must abandon all its tasks and rejoin.",
        )
    return step.next_member(target_epoch)


class _Step:
    """One computation: kept = assigned and in the target, revoked = assigned only, added = free tasks of the target."""

    def __init__(
        self, member: StreamsMember, target_epoch: int, target: Tasks, owners: TaskOwners, owned: Tasks | None
    ) -> None:
        self._member = member
        self._target_epoch = target_epoch
        self._target = target
        self._owners = owners
        self._owned = owned
        self._unreleased = False

    def next_member(self, epoch: int) -> StreamsMember:
        """Return the member, which stays at `epoch` while it must give up tasks."""
        member, assigned, target = self._member, self._member.assigned, self._target
        kept_active, revoked_active, added_active = self._active(assigned.active, target.active)
        kept_standby, revoked_standby, added_standby = self._passive(assigned.standby, target.standby)
        kept_warmup, revoked_warmup, added_warmup = self._passive(assigned.warmup, target.warmup)
        kept = HeldTasks(kept_active, kept_standby, kept_warmup)
        revoked = HeldTasks(revoked_active, revoked_standby, revoked_warmup)
        if not revoked.is_empty() and (self._owned is None or revoked.overlaps(self._owned)):
            return replace(
                member,
                state=TaskState.UNREVOKED_TASKS,
                member_epoch=epoch,
                previous_member_epoch=member.member_epoch,
                assigned=kept,
                pending_revocation=revoked,
            )
        added = HeldTasks(added_active, added_standby, added_warmup)
        return replace(
            member,
            state=TaskState.UNRELEASED_TASKS if self._unreleased else TaskState.STABLE,
            member_epoch=self._target_epoch,
            previous_member_epoch=member.member_epoch,
            assigned=kept if added.is_empty() else kept.merged_with(added),
            pending_revocation=NO_HELD_TASKS,
        )

    def _active(self, assigned: TaskEpochs, target: TaskSets) -> tuple[TaskEpochs, TaskEpochs, TaskEpochs]:
        kept: dict[str, dict[int, int]] = {}
        revoked: dict[str, dict[int, int]] = {}
        subtopologies = hash_order_of_set(target, added=assigned)
        for subtopology in subtopologies:
            wanted = target.get(subtopology, frozenset())
            for partition, epoch in assigned.get(subtopology, {}).items():
                group = kept if partition in wanted else revoked
                group.setdefault(subtopology, {})[partition] = epoch
        free = self._free(
            subtopologies,
            target,
            lambda subtopology: frozenset(assigned.get(subtopology, ())),
            self._is_active_task_taken,
        )
        added = {
            subtopology: dict.fromkeys(sorted(partitions), self._target_epoch)
            for subtopology, partitions in free.items()
        }
        return _in_hash_order(kept), _in_hash_order(revoked), added

    def _passive(self, assigned: TaskSets, target: TaskSets) -> tuple[TaskSets, TaskSets, TaskSets]:
        nothing: frozenset[int] = frozenset()
        names = hash_order_of_set(target, added=assigned)
        held = {name: assigned.get(name, nothing) for name in names}
        kept = {name: both for name in names if (both := held[name] & target.get(name, nothing))}
        revoked = {name: gone for name in names if (gone := held[name] - target.get(name, nothing))}
        added = self._free(names, target, held.__getitem__, self._is_passive_task_taken)
        return _in_hash_order(kept), _in_hash_order(revoked), added

    def _free(
        self,
        subtopologies: Iterable[str],
        target: TaskSets,
        assigned: Callable[[str], frozenset[int]],
        is_taken: Callable[[str, int], bool],
    ) -> dict[str, frozenset[int]]:
        """Return the new tasks of the target that are free, and note if some are not."""
        found = {}
        for subtopology in subtopologies:
            added = target.get(subtopology, frozenset()) - assigned(subtopology)
            free = frozenset(partition for partition in added if not is_taken(subtopology, partition))
            self._unreleased |= len(free) < len(added)
            if free:
                found[subtopology] = free
        return _in_hash_order(found)

    def _is_active_task_taken(self, subtopology: str, partition: int) -> bool:
        return self._owners.active_process(subtopology, partition) is not None or self._process_has_copy(
            subtopology, partition
        )

    def _is_passive_task_taken(self, subtopology: str, partition: int) -> bool:
        return self._owners.active_process(subtopology, partition) == self._member.process_id or self._process_has_copy(
            subtopology, partition
        )

    def _process_has_copy(self, subtopology: str, partition: int) -> bool:
        return self._owners.has_copy(self._member.process_id, subtopology, partition)


def _in_hash_order(tasks: Mapping[str, T]) -> dict[str, T]:
    """Return tasks in the order of a HashMap that grew with their subtopologies."""
    return {subtopology: tasks[subtopology] for subtopology in hash_order(tasks)}
