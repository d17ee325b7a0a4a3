"""Removes members from groups. Mirrors RemoveMembersFromConsumerGroupHandler; KIP-345, KIP-571, KIP-800."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.admin.calls import ItemCall, OneItemPerRequest, Outcomes
from broker_client.core.admin.group_coordinators import of_group, take_code
from broker_client.core.admin.group_descriptions import GroupDescriptionCalls
from broker_client.errors import UnsupportedVersion
from protocol_specs.messages.leave_group import LeaveGroupRequest, MemberIdentity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol_specs.messages.leave_group import LeaveGroupResponse

__all__ = ["GroupMemberCalls"]

DEFAULT_REASON: Final = "member was removed by an admin"
REASON_LENGTH_MAX: Final = 255
_MEMBERS_FROM: Final = 3


class GroupMemberCalls(GroupDescriptionCalls):
    """Call everything on the reactor's thread."""

    async def remove_group_members(
        self, group_id: str, group_instance_ids: Sequence[str] | None = None, *, reason: str = ""
    ) -> list[str]:
        """Remove these static members, or all members, and return them; raises ItemsFailed by member.

        Static members are named by their group.instance.id, others by their member id.
        """
        text = (reason or DEFAULT_REASON)[:REASON_LENGTH_MAX]
        if group_instance_ids is None:
            described = (await self.describe_consumer_groups([group_id]))[group_id]
            leaving = [(one.member_id, one.group_instance_id) for one in described.members]
        else:
            leaving = [("", instance_id) for instance_id in group_instance_ids]
        identities = {
            instance_id or member_id: MemberIdentity(
                member_id="" if instance_id else member_id, group_instance_id=instance_id, reason=text
            )
            for member_id, instance_id in leaving
        }

        def build(version: int, members: list[str], timeout_ms: int) -> LeaveGroupRequest:
            del timeout_ms
            if version >= _MEMBERS_FROM:
                return LeaveGroupRequest(group_id=group_id, members=[identities[one] for one in members])
            if len(members) > 1:
                raise OneItemPerRequest(f"LeaveGroup v{version} has one member per request")
            if identities[members[0]].group_instance_id is not None:
                raise UnsupportedVersion(
                    f"members are removed by group.instance.id from LeaveGroup v{_MEMBERS_FROM} (Kafka 2.4) on, "
                    f"the node speaks v{version}"
                )
            return LeaveGroupRequest(group_id=group_id, member_id=members[0])

        def take(response: LeaveGroupResponse, members: list[str], outcomes: Outcomes[str, str]) -> None:
            codes = {one.group_instance_id or one.member_id: one.error_code for one in response.members}
            if response.error_code or not codes:
                codes = dict.fromkeys(members, response.error_code)
            for member, code in codes.items():
                take_code(outcomes, member, group_id, code, None, member)

        call = ItemCall(kind=LeaveGroupRequest, route=of_group(group_id), build=build, take=take)
        return list(await self._calls.settle(list(identities), call))
