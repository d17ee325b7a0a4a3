"""The responses that classic groups send, and their form in the version of a request. Mirrors JoinGroupResponse and the
error responses of JoinGroup and SyncGroup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from protocol_specs.messages.sync_group import SyncGroupResponse

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.classic.classic_group import ClassicGroup
    from protocol_specs.error_codes import ErrorCode

__all__ = ["as_version", "join_refusal", "joined", "sync_refusal", "synced"]

_NULL_PROTOCOL_SINCE: Final = 7


def join_refusal(error_code: ErrorCode, member_id: str = "") -> JoinGroupResponse:
    """Return the response of a refused JoinGroup."""
    return JoinGroupResponse(error_code=error_code, member_id=member_id)


def joined(group: ClassicGroup, member_id: str) -> JoinGroupResponse:
    """Return the response of a member that is in the group's generation; the leader gets all members."""
    response = JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.embedded_protocol,
        protocol_name=group.protocol_name,
        leader=group.leader_id or "",
        member_id=member_id,
    )
    if group.is_leader(member_id):
        response.members = [
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.metadata(group.protocol_name),
            )
            for member in group.members.values()
        ]
    return response


def sync_refusal(error_code: ErrorCode) -> SyncGroupResponse:
    """Return the response of a refused SyncGroup."""
    return SyncGroupResponse(error_code=error_code)


def synced(group: ClassicGroup, assignment: bytes) -> SyncGroupResponse:
    """Return the response with the assignment of a member."""
    return SyncGroupResponse(
        protocol_type=group.embedded_protocol, protocol_name=group.protocol_name, assignment=assignment
    )


def as_version(response: JoinGroupResponse, api_version: int, *, no_generation: int = -1) -> JoinGroupResponse:
    """Return a JoinGroup response whose missing protocol is null from v7 on, and empty before."""
    if response.generation_id < 0:
        response.generation_id = no_generation
    response.protocol_name = response.protocol_name or (None if api_version >= _NULL_PROTOCOL_SINCE else "")
    return response
