"""The records of classic groups: GroupMetadata, type 2. Mirrors GroupCoordinatorRecordHelpers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
from protocol_specs.schemas.coordinator.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.classic.classic_group import ClassicGroup

__all__ = ["empty_group_record", "group_record", "group_tombstone"]

_NO_TIMESTAMP = -1


def group_record(group: ClassicGroup, assignments: Mapping[str, bytes], version: int) -> CoordinatorRecord:
    """Return the record of a group whose members have these assignments, by member id."""
    return CoordinatorRecord(
        GroupMetadataKey(group=group.group_id),
        GroupMetadataValue(
            protocol_type=group.embedded_protocol or "",
            generation=group.generation_id,
            protocol=group.protocol_name,
            leader=group.leader_id,
            current_state_timestamp=_NO_TIMESTAMP if group.state_timestamp_ms is None else group.state_timestamp_ms,
            members=[
                MemberMetadata(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    rebalance_timeout=member.rebalance_timeout_ms,
                    session_timeout=member.session_timeout_ms,
                    subscription=member.metadata(group.protocol_name),
                    assignment=assignments[member.member_id],
                )
                for member in group.members.values()
            ],
        ),
        version,
    )


def empty_group_record(group: ClassicGroup, version: int) -> CoordinatorRecord:
    """Return the record of a group that was created: without members, protocol and leader."""
    return CoordinatorRecord(
        GroupMetadataKey(group=group.group_id),
        GroupMetadataValue(
            protocol_type="",
            generation=0,
            protocol=None,
            leader=None,
            current_state_timestamp=_NO_TIMESTAMP if group.state_timestamp_ms is None else group.state_timestamp_ms,
        ),
        version,
    )


def group_tombstone(group_id: str) -> CoordinatorRecord:
    """Return the record that deletes a group."""
    return CoordinatorRecord(GroupMetadataKey(group=group_id), None)
