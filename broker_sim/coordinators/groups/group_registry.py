"""The groups of one shard by id. Mirrors the `groups` of GroupMetadataManager."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.group import Group
from broker_sim.coordinators.runtime.snapshot_registry import TimelineDict
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import concurrent_order, string_hash, timeline_order

if TYPE_CHECKING:
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry

__all__ = ["GroupRegistry", "other_type"]

G = TypeVar("G", bound=Group)


class GroupRegistry:
    """All groups, of all types: a group id has one group."""

    def __init__(self, snapshots: SnapshotRegistry, *, old_coordinator: bool = False) -> None:
        self._groups: TimelineDict[str, Group] = TimelineDict(snapshots)
        self._old_coordinator = old_coordinator
        self.most = 0
        """The highest number of groups so far, by which Kafka's map has grown."""

    def get(self, group_id: str) -> Group | None:
        """Return the newest group of an id, None if there is none."""
        return self._groups.get(group_id)

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
        self.most = max(self.most, len(self._groups))

    def remove(self, group_id: str) -> None:
        """Remove a group; does nothing if there is none."""
        self._groups.pop(group_id)

    def all(self) -> list[Group]:
        """Return the newest groups, as Kafka's map of groups lists them."""
        return self._listed(self._groups.values())

    def all_of(self, group_type: type[G]) -> list[G]:
        """Return the newest groups of a type."""
        return [group for group in self._groups.values() if isinstance(group, group_type)]

    def all_at(self, committed_offset: int) -> list[Group]:
        """Return the groups as of an offset, as Kafka's map of groups lists them."""
        return self._listed(list(self._groups.at(committed_offset).values()))

    def _listed(self, groups: list[Group]) -> list[Group]:
        hashes = [string_hash(group.group_id) for group in groups]
        if self._old_coordinator:
            order = concurrent_order(hashes, count=self.most)
        else:
            order = timeline_order(hashes, most=self.most)
        return [groups[place] for place in order]


def other_type(group_type: type[Group], group_id: str) -> CoordinatorError:
    """Return the error of a group that is not of the requested type."""
    return CoordinatorError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a {group_type.type.value} group.")
