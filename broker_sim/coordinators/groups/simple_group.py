"""A group without members that only commits offsets. Mirrors the empty ClassicGroup of a simple consumer."""

from __future__ import annotations

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.group import GroupType
from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
from protocol_specs.error_codes import ErrorCode
from protocol_specs.schemas.coordinator.group_metadata import GroupMetadataKey

__all__ = ["SimpleGroup"]


class SimpleGroup:
    """A group that an offset commit has created."""

    type = GroupType.CLASSIC

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id

    def state_name(self, committed_offset: int | None = None) -> str:  # noqa: ARG002
        """Return Empty."""
        return "Empty"

    def protocol_type(self, committed_offset: int | None = None) -> str:  # noqa: ARG002
        """Return the empty protocol type."""
        return ""

    def is_empty(self) -> bool:
        """Return True."""
        return True

    def check_offset_commit(
        self,
        *,
        member_id: str,  # noqa: ARG002
        group_instance_id: str | None,  # noqa: ARG002
        member_epoch: int,
        transactional: bool,  # noqa: ARG002
        api_version: int,  # noqa: ARG002
    ) -> None:
        """Raise for members: the group has none."""
        if member_epoch >= 0:
            raise CoordinatorError(ErrorCode.UNKNOWN_MEMBER_ID)

    def check_offset_fetch(self, *, member_id: str | None, member_epoch: int, committed_offset: int) -> None:
        """Allow every client to fetch."""

    def check_offset_delete(self) -> None:
        """Allow the deletion of offsets."""

    def check_delete(self) -> None:
        """Allow the deletion of the group."""

    def tombstones(self) -> list[CoordinatorRecord]:
        """Return the tombstone of a classic group."""
        return [CoordinatorRecord(GroupMetadataKey(group=self.group_id), None)]

    def is_subscribed_to(self, topic: str) -> bool:  # noqa: ARG002
        """Return False: the group has no members."""
        return False

    def expiry_base_ms(self, commit_timestamp_ms: int) -> int | None:
        """Return the time of the commit."""
        return commit_timestamp_ms

    def commit_received(self, member_id: str) -> None:
        """Do nothing: no member has a session."""
