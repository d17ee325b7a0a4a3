"""One share group. Mirrors ShareGroup (KIP-932)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.group import GroupType
from broker_sim.coordinators.groups.modern.modern_group import ModernGroup
from broker_sim.coordinators.groups.modern.modern_member import ModernMember
from broker_sim.coordinators.groups.share import share_records
from broker_sim.coordinators.runtime.timeline_value import TimelineValue
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.share.initialization import Initialization
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry

__all__ = ["PROTOCOL_TYPE", "ShareGroup"]

PROTOCOL_TYPE: Final = "share"
EMPTY: Final = "Empty"
STABLE: Final = "Stable"
FIRST_EPOCH: Final = 1


class ShareGroup(ModernGroup[ModernMember]):
    """A group that has no offsets of its own: its share partitions have them."""

    def __init__(self, snapshots: SnapshotRegistry, group_id: str) -> None:
        super().__init__(snapshots, group_id, first_epoch=FIRST_EPOCH)
        self.assignment_timestamp: TimelineValue[int] = TimelineValue(snapshots, 0)
        """When the target assignment was computed; 0 if that is not known."""
        self.initialization: TimelineValue[Initialization | None] = TimelineValue(snapshots, None)
        """The state of the share partitions; None before the first of them."""

    @property
    def type(self) -> GroupType:
        """A share group."""
        return GroupType.SHARE

    def state_name(self, committed_offset: int | None = None) -> str:
        """Return "Empty" or "Stable"."""
        members = len(self.members) if committed_offset is None else len(self.members.at(committed_offset))
        return STABLE if members else EMPTY

    def protocol_type(self, committed_offset: int | None = None) -> str:  # noqa: ARG002
        """Return "share"."""
        return PROTOCOL_TYPE

    def check_offset_commit(
        self,
        *,
        member_id: str,
        group_instance_id: str | None,
        member_epoch: int,
        transactional: bool,
        api_version: int,
    ) -> None:
        """Raise: the group has no offsets of members."""
        del member_id, group_instance_id, member_epoch, transactional, api_version
        raise self._no_consumer_group()

    def check_offset_fetch(self, *, member_id: str | None, member_epoch: int, committed_offset: int) -> None:
        """Raise: the group has no offsets of members."""
        del member_id, member_epoch, committed_offset
        raise self._no_consumer_group()

    def check_offset_delete(self) -> None:
        """Raise: the group has no offsets of members."""
        raise self._no_consumer_group()

    def _no_consumer_group(self) -> CoordinatorError:
        return CoordinatorError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {self.group_id} is not a consumer group.")

    def check_delete(self) -> None:
        """Raise unless the group has no members.

        Raises:
            CoordinatorError: NON_EMPTY_GROUP.
        """
        if not self.is_empty():
            raise CoordinatorError(ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")

    def tombstones(self) -> list[CoordinatorRecord]:
        """Return the records that delete the group."""
        members = list(self.members)
        return [
            *(share_records.current_assignment_tombstone(self.group_id, each) for each in members),
            *(share_records.target_tombstone(self.group_id, each) for each in members),
            share_records.assignment_epoch_tombstone(self.group_id),
            *(share_records.member_tombstone(self.group_id, each) for each in members),
            share_records.initialization_tombstone(self.group_id),
            share_records.group_epoch_tombstone(self.group_id),
        ]

    def expiry_base_ms(self, commit_timestamp_ms: int) -> int | None:  # noqa: ARG002
        """Return None: there are no offsets to expire."""
        return None

    def commit_received(self, member_id: str) -> None:
        """No member commits."""
