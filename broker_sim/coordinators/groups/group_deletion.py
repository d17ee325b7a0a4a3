"""The deletion of groups by an administrator. Mirrors GroupCoordinatorShard.deleteGroups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from protocol_specs.messages.delete_groups import DeletableGroupResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from broker_sim.coordinators.groups.group_registry import GroupRegistry
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord

__all__ = ["GroupDeletion"]


class GroupDeletion:
    """Deletes the groups of one shard; `offset_tombstones` returns the records that delete a group's offsets.

    The old coordinator writes a batch per group.
    """

    def __init__(
        self,
        groups: GroupRegistry,
        offset_tombstones: Callable[[str], list[CoordinatorRecord]],
        *,
        old_coordinator: bool,
    ) -> None:
        self._groups = groups
        self._offset_tombstones = offset_tombstones
        self._old_coordinator = old_coordinator

    def delete(self, group_ids: Iterable[str]) -> CoordinatorResult[list[DeletableGroupResult]]:
        """Delete the groups that may be deleted, each with a result of its own."""
        records: list[CoordinatorRecord] = []
        batch_starts = set()
        results = []
        for group_id in group_ids:
            result = DeletableGroupResult(group_id=group_id)
            results.append(result)
            try:
                group = self._groups.existing(group_id)
                group.check_delete()
            except CoordinatorError as error:
                result.error_code = error.error_code
                continue
            batch_starts.add(len(records))
            records += self._offset_tombstones(group_id)
            records += group.tombstones()
            if self._old_coordinator:
                self._groups.remove(group_id)  # a group without generations has no tombstone that would remove it
        if self._old_coordinator:
            return CoordinatorResult(
                records, results, atomic=False, batch_starts=frozenset(batch_starts), unconditional=True
            )
        return CoordinatorResult(records, results)
