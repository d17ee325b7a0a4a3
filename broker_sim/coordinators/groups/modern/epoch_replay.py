"""The replay of the records that consumer, share and streams groups have in common. Mirrors the replay methods of
GroupMetadataManager.

Compaction leaves any mix of records: a value creates its group and member if they are missing, and a tombstone of an
unknown group or member is ignored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from broker_sim.coordinators.groups.modern.epoch_group import EpochGroup
from broker_sim.coordinators.groups.modern.epoch_member import LEAVE_EPOCH, EpochMember

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_sim.coordinators.groups.group_registry import GroupRegistry
    from broker_sim.coordinators.groups.group_shard import Replayed
    from protocol_specs.message import Message

__all__ = ["EpochReplay"]

G = TypeVar("G", bound=EpochGroup[Any, Any])
M = TypeVar("M", bound=EpochMember)

_NO_ASSIGNMENT_EPOCH: Final = -1


class EpochReplay(ABC, Generic[G, M]):
    """Applies records to the groups `G` with members `M` of one shard. Subclasses convert the values of records."""

    _appliers: ClassVar[Mapping[type[Message], Callable[[Any, Any, Replayed], None]]]
    """The types of keys, and the methods that change their group."""

    _no_assignment: ClassVar[Mapping[str, Any]]
    """The fields of a member that hold its current assignment, as they are without one."""

    def __init__(self, groups: GroupRegistry, group_type: type[G], new_member: Callable[..., M]) -> None:
        self._groups = groups
        self._group_type = group_type
        self._new_member = new_member

    @property
    def handlers(self) -> Mapping[type[Message], Callable[[Replayed], None]]:
        """The types of keys, and how they are replayed."""
        return dict.fromkeys(self._appliers, self._replay)

    @abstractmethod
    def new_group(self, group_id: str) -> G:
        """Return a group that is not among those of the shard."""

    def _replay(self, replayed: Replayed) -> None:
        group = self._group_of(replayed)
        if group is not None:
            self._appliers[type(replayed.key)](self, group, replayed)

    def _group_of(self, replayed: Replayed) -> G | None:
        """Return the group of a record; a value creates it. An empty classic group of the id is replaced."""
        group = self._groups.find(self._group_type, replayed.key.group_id)
        if group is None and replayed.value is not None:
            group = self.new_group(replayed.key.group_id)
            self._groups.add(group)
        return group

    def _member_of(self, group: G, replayed: Replayed) -> M:
        """Return the member of a record, a new one if the group does not have it."""
        member_id = replayed.key.member_id
        member: M | None = group.members.get(member_id)
        return self._new_member(member_id=member_id) if member is None else member

    # The records of all types of groups.

    def apply_group_epoch(self, group: G, replayed: Replayed) -> None:
        """Apply the record of a group epoch; without a value the group is deleted."""
        if replayed.value is None:
            self._groups.remove(group.group_id)
            return
        group.group_epoch.set(replayed.value.epoch)
        self._set_metadata(group, replayed.value)

    def apply_member(self, group: G, replayed: Replayed) -> None:
        """Apply the metadata record of a member."""
        if replayed.value is None:
            group.remove_member(replayed.key.member_id)
        else:
            group.put_member(self._described(self._member_of(group, replayed), replayed.value))

    def apply_assignment_epoch(self, group: G, replayed: Replayed) -> None:
        """Apply the record of the epoch of the target assignment."""
        value = replayed.value
        group.assignment_epoch.set(_NO_ASSIGNMENT_EPOCH if value is None else value.assignment_epoch)
        group.assignment_timestamp_ms.set(0 if value is None else value.assignment_timestamp)

    def apply_target(self, group: G, replayed: Replayed) -> None:
        """Apply the record of the target assignment of a member."""
        if replayed.value is None:
            group.target.pop(replayed.key.member_id)
        else:
            group.target[replayed.key.member_id] = self._target(replayed.value)

    def apply_current_assignment(self, group: G, replayed: Replayed) -> None:
        """Apply the record of what a member owns; without a value the member has left."""
        if replayed.value is not None:
            group.put_member(self._assigned(self._member_of(group, replayed), replayed.value))
            return
        member: M | None = group.members.get(replayed.key.member_id)
        if member is not None:
            unassigned: dict[str, Any] = {**self._no_assignment}
            group.put_member(replace(member, member_epoch=LEAVE_EPOCH, previous_member_epoch=LEAVE_EPOCH, **unassigned))

    # The values of records.

    @abstractmethod
    def _set_metadata(self, group: G, value: Any) -> None:
        """Set the fields that the record of a group epoch has besides the epoch."""

    @abstractmethod
    def _described(self, member: M, value: Any) -> M:
        """Return the member with the fields of its metadata record."""

    @abstractmethod
    def _target(self, value: Any) -> Any:
        """Return the target assignment of a record."""

    @abstractmethod
    def _assigned(self, member: M, value: Any) -> M:
        """Return the member with the fields of its current assignment record."""
