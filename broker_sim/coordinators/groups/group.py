"""The types of groups, and what the offsets of a group need to know about it. Mirrors Group and Group.GroupType."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord

__all__ = ["Group", "GroupType", "PartitionCheck"]

PartitionCheck: TypeAlias = "Callable[[str, bytes, int], None]"
"""Raises if a partition, by topic name, topic id and number, may not be committed: then the whole request fails."""


class GroupType(Enum):
    """The protocol of a group; the value is its name in ListGroups."""

    UNKNOWN = "unknown"
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class Group(Protocol):
    """One group of any type.

    All checks raise CoordinatorError. A committed offset of None is the newest state.
    """

    type: ClassVar[GroupType]
    """The protocol of the group."""
    group_id: str

    def state_name(self, committed_offset: int | None = None) -> str:
        """Return the state as ListGroups and the Describe APIs name it."""

    def protocol_type(self, committed_offset: int | None = None) -> str:
        """Return the protocol type as ListGroups reports it, such as "consumer"."""

    def is_empty(self) -> bool:
        """Return True if the group has no members."""

    def check_offset_commit(
        self, *, member_id: str, group_instance_id: str | None, member_epoch: int, transactional: bool, api_version: int
    ) -> PartitionCheck | None:
        """Raise unless the member may commit offsets. Mirrors validateOffsetCommit.

        The result, if there is one, checks each partition.
        """

    def check_offset_fetch(self, *, member_id: str | None, member_epoch: int, committed_offset: int) -> None:
        """Raise unless the member may fetch offsets. Mirrors validateOffsetFetch."""

    def check_offset_delete(self) -> None:
        """Raise unless offsets may be deleted. Mirrors validateOffsetDelete."""

    def check_delete(self) -> None:
        """Raise unless the group may be deleted. Mirrors validateDeleteGroup."""

    def tombstones(self) -> list[CoordinatorRecord]:
        """Return the records that delete the group. Mirrors createGroupTombstoneRecords."""

    def is_subscribed_to(self, topic: str) -> bool:
        """Return True if a member subscribes to the topic, which keeps its offsets."""

    def expiry_base_ms(self, commit_timestamp_ms: int) -> int | None:
        """Return the time from which an offset's retention counts, None if it never expires.

        Mirrors offsetExpirationCondition.
        """

    def commit_received(self, member_id: str) -> None:
        """A member has committed: a classic group restarts its session."""
