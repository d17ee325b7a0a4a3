"""The descriptions of classic groups. Mirrors GroupMetadataManager.describeGroups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.classic.classic_group import ClassicGroup
from broker_sim.coordinators.groups.classic.classic_group_state import ClassicGroupState
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_groups import DescribedGroup, DescribedGroupMember

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.classic.classic_member import ClassicMember
    from broker_sim.coordinators.groups.group_registry import GroupRegistry

__all__ = ["describe"]

_STABLE: Final = ClassicGroupState.STABLE


def describe(
    groups: GroupRegistry, group_id: str, committed_offset: int, *, unknown_is_error: bool, old_coordinator: bool
) -> DescribedGroup:
    """Describe one group; a group that does not exist is dead."""
    try:
        group = groups.existing_of(ClassicGroup, group_id, committed_offset)
    except CoordinatorError as error:
        dead = DescribedGroup(group_id=group_id, group_state=ClassicGroupState.DEAD.value)
        if unknown_is_error:
            dead.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            dead.error_message = error.message
        return dead
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state_name(),
        protocol_type=group.protocol_type(),
        protocol_data=(group.protocol_name or "") if group.state is _STABLE else "",
        members=[_describe(group, member, old_coordinator=old_coordinator) for member in group.members.values()],
    )


def _describe(group: ClassicGroup, member: ClassicMember, *, old_coordinator: bool) -> DescribedGroupMember:
    """Describe one member: metadata in a stable group alone; the old coordinator keeps assignments back as well."""
    stable = group.state is _STABLE
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata(group.protocol_name) if stable else b"",
        member_assignment=member.assignment if stable or not old_coordinator else b"",
    )
