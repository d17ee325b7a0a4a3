"""The state that consumer, share and streams groups have in common: epochs, members and their target assignments.

Mirrors what Kafka's ModernGroup and StreamsGroup both have.
"""

from __future__ import annotations

from abc import abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeVar

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.group import Group
from broker_sim.coordinators.groups.modern.epoch_member import EpochMember
from broker_sim.coordinators.runtime.snapshot_registry import TimelineDict, TimelineTable
from broker_sim.coordinators.runtime.timeline_value import TimelineValue
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import string_hash

if TYPE_CHECKING:
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry

__all__ = ["EpochGroup", "GroupState"]

M = TypeVar("M", bound=EpochMember)
T = TypeVar("T")


class GroupState(Enum):
    """The state of a group; the value is its name in responses."""

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    """Topics of a streams group's topology are missing, or do not fit it."""
    ASSIGNING = "Assigning"
    """A new target assignment is due."""
    RECONCILING = "Reconciling"
    """Members are on their way to the target assignment."""
    STABLE = "Stable"


class EpochGroup(Group, Generic[M, T]):
    """One group of members `M` with target assignments `T`. Only the replay of records changes what its log keeps."""

    def __init__(self, snapshots: SnapshotRegistry, group_id: str, *, first_epoch: int, no_target: T) -> None:
        self.group_id = group_id
        self.group_epoch: TimelineValue[int] = TimelineValue(snapshots, first_epoch)
        self.assignment_epoch: TimelineValue[int] = TimelineValue(snapshots, first_epoch)
        """The group epoch for which the target assignment was computed; -1 once it is deleted."""
        self.assignment_timestamp_ms: TimelineValue[int] = TimelineValue(snapshots, 0)
        """When the target assignment was computed; 0 if that is not known, as before 4.3."""
        self.members: TimelineTable[str, M] = TimelineTable(snapshots)
        self.target: TimelineDict[str, T] = TimelineDict(snapshots)
        """The most members that Kafka's table of them has had room for: it never shrinks."""
        self._no_target = no_target
        self._refresh_at_ms = 0
        self._refresh_epoch = 0

    # State.

    def state(self, committed_offset: int | None = None) -> GroupState:
        """Return the state, as of an offset if one is given. Mirrors maybeUpdateGroupState."""
        members = self.members.values() if committed_offset is None else self.members.at(committed_offset).values()
        assignment_epoch = self.assignment_epoch.get(committed_offset)
        if not members:
            return GroupState.EMPTY
        if self.group_epoch.get(committed_offset) > assignment_epoch:
            return GroupState.ASSIGNING
        if all(member.is_reconciled_to(assignment_epoch) for member in members):
            return GroupState.STABLE
        return GroupState.RECONCILING

    def state_name(self, committed_offset: int | None = None) -> str:
        """Return the state as responses name it."""
        return self.state(committed_offset).value

    def protocol_type(self, committed_offset: int | None = None) -> str:  # noqa: ARG002
        """Return the name of the group's type, such as "consumer"."""
        return self.type.value

    # Members.

    def existing_member(self, member_id: str, committed_offset: int | None = None) -> M:
        """Return a member, as of an offset if one is given.

        Raises:
            CoordinatorError: UNKNOWN_MEMBER_ID.
        """
        if committed_offset is None:
            member = self.members.get(member_id)
        else:
            member = self.members.get_at(member_id, committed_offset)
        if member is None:
            raise CoordinatorError(
                ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}."
            )
        return member

    def member_ids(self, committed_offset: int | None = None) -> list[str]:
        """Return the ids of the members in the order of Kafka's table of them."""
        return [member_id for member_id, _ in self.members.listed(string_hash, committed_offset)]

    def put_member(self, member: M) -> None:
        """Add a member, or replace it."""
        old = self.members.get(member.member_id)
        self.members[member.member_id] = member
        self._member_changed(old, member)

    def remove_member(self, member_id: str) -> None:
        """Remove a member; does nothing if there is none."""
        old = self.members.pop(member_id)
        if old is not None:
            self._member_changed(old, None)

    @abstractmethod
    def _member_changed(self, old: M | None, new: M | None) -> None:
        """Update the state that is derived from all members."""

    def is_empty(self) -> bool:
        """Return True if the group has no members."""
        return not self.members

    # Target assignments.

    def target_of(self, member_id: str) -> T:
        """Return the target assignment of a member, which is empty if it has none."""
        target = self.target.get(member_id)
        return self._no_target if target is None else target

    def awaits_assignment_interval(self, now_ms: int, interval_ms: int) -> bool:
        """Return True if the last target assignment is younger than an interval. An interval of 0 never delays one."""
        computed_ms = self.assignment_timestamp_ms.get()
        return bool(computed_ms and interval_ms) and now_ms < computed_ms + interval_ms

    # Topics.

    @abstractmethod
    def uses_any(self, topics: frozenset[str]) -> bool:
        """Return True if the assignments of the group depend on one of the topics."""

    def has_metadata_expired(self, now_ms: int) -> bool:
        """Return True if the fingerprint of the topics must be computed again. Mirrors hasMetadataExpired."""
        return now_ms >= self._refresh_at_ms or self.group_epoch.get() < self._refresh_epoch

    def refresh_metadata_at(self, deadline_ms: int, group_epoch: int) -> None:
        """Compute the fingerprint again at a time, or when the write of this epoch was reverted."""
        self._refresh_at_ms, self._refresh_epoch = deadline_ms, group_epoch

    def request_metadata_refresh(self) -> None:
        """Compute the fingerprint again at the next heartbeat: a topic has changed."""
        self._refresh_at_ms = self._refresh_epoch = 0

    # Offsets and deletion.

    def check_offset_delete(self) -> None:
        """Offsets of topics without subscribers may always be deleted."""

    def check_delete(self) -> None:
        """Raise unless the group is empty. Mirrors validateDeleteGroup.

        Raises:
            CoordinatorError: NON_EMPTY_GROUP.
        """
        if not self.is_empty():
            raise CoordinatorError(ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")

    def expiry_base_ms(self, commit_timestamp_ms: int) -> int | None:
        """Return the time of the commit: offsets of subscribed topics are kept by `is_subscribed_to`."""
        return commit_timestamp_ms

    def commit_received(self, member_id: str) -> None:
        """Only heartbeats keep the session of a member."""
