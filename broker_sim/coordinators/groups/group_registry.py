"""The groups of one shard by id. Mirrors the `groups` of GroupMetadataManager."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.group import Group
from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry, TimelineTable
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import string_hash

if TYPE_CHECKING:
    from protocol_specs.java_hash import ConcurrentKeys

__all__ = ["GroupRegistry", "other_type"]

G = TypeVar("G", bound=Group)


class GroupRegistry:
    """All groups, of all types: a group id has one group.

    `of_all_shards` is the order of the old coordinator, which has the groups of all partitions in one map. It keeps
    a group whose first records are not written.
    """

    def __init__(self, snapshots: SnapshotRegistry, *, of_all_shards: ConcurrentKeys[str] | None = None) -> None:
        self._groups: TimelineTable[str, Group] = TimelineTable(
            snapshots if of_all_shards is None else SnapshotRegistry()
        )
        self._of_all_shards = of_all_shards
        self.get = self._groups.get
        """Returns the newest group of an id, None if there is none."""

    def existing(self, group_id: str, committed_offset: int | None = None) -> Group:
        """Return the group of an id, as of an offset if one is given.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND.
        """
        group = (
            self._groups.get(group_id) if committed_offset is None else self._groups.get_at(group_id, committed_offset)
        )
        if group is None:
            raise CoordinatorError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return group

    def find(self, group_type: type[G], group_id: str) -> G | None:
        """Return the newest group of an id, None if there is none or it is of another type."""
        group = self._groups.get(group_id)
        return group if isinstance(group, group_type) else None

    def existing_of(self, group_type: type[G], group_id: str, committed_offset: int | None = None) -> G:
        """Return the group of an id, as of an offset if one is given.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND: there is no group, or it is of another type.
        """
        group = self.existing(group_id, committed_offset)
        if isinstance(group, group_type):
            return group
        raise other_type(group_type, group_id)

    def add(self, group: Group) -> None:
        """Add a group, or replace that of the same id."""
        self._groups[group.group_id] = group
        if self._of_all_shards is not None:
            self._of_all_shards.put(group.group_id)

    def remove(self, group_id: str) -> None:
        """Remove a group; does nothing if there is none."""
        self._groups.pop(group_id)
        if self._of_all_shards is not None:
            self._of_all_shards.remove(group_id)

    def unloaded(self) -> None:
        """Remove every group from the order of all shards."""
        if self._of_all_shards is not None:
            for group_id in self._groups:
                self._of_all_shards.remove(group_id)

    def all(self, committed_offset: int | None = None) -> list[Group]:
        """Return the groups as Kafka's map lists them, as of an offset if one is given."""
        if self._of_all_shards is None:
            return [group for _, group in self._groups.listed(string_hash, committed_offset)]
        groups = dict(self._groups.items()) if committed_offset is None else self._groups.at(committed_offset)
        return [groups[group_id] for group_id in self._of_all_shards if group_id in groups]

    def all_of(self, group_type: type[G]) -> list[G]:
        """Return the newest groups of a type."""
        return [group for group in self._groups.values() if isinstance(group, group_type)]


def other_type(group_type: type[Group], group_id: str) -> CoordinatorError:
    """Return the error of a group that is not of the requested type."""
    return CoordinatorError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a {group_type.type.value} group.")
