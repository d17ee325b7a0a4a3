"""One share group. Mirrors ShareGroup (KIP-932)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.group import GroupType
from broker_sim.coordinators.groups.modern.epoch_group import GroupState
from broker_sim.coordinators.groups.modern.modern_group import ModernGroup
from broker_sim.coordinators.groups.modern.modern_member import ModernMember
from broker_sim.coordinators.groups.share import share_records
from broker_sim.coordinators.runtime.timeline_value import TimelineValue
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.share.initialization import Initialization
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry

__all__ = ["ShareGroup"]

FIRST_EPOCH: Final = 1


class ShareGroup(ModernGroup[ModernMember]):
    """A group that has no offsets of its own: its share partitions have them."""

    type = GroupType.SHARE

    def __init__(self, snapshots: SnapshotRegistry, group_id: str) -> None:
        super().__init__(snapshots, group_id, first_epoch=FIRST_EPOCH)
        self.initialization: TimelineValue[Initialization | None] = TimelineValue(snapshots, None)
        """The state of the share partitions; None before the first of them."""

    def state(self, committed_offset: int | None = None) -> GroupState:
        """Return EMPTY or STABLE."""
        return GroupState.STABLE if self.member_ids(committed_offset) else GroupState.EMPTY

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

    def tombstones(self) -> list[CoordinatorRecord]:
        """Return the records that delete the group."""
        members = self.member_ids()
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
