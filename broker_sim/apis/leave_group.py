"""LeaveGroup (api key 13): members leave a classic group. Mirrors KafkaApis.handleLeaveGroupRequest.

Versions: v3 several members, each with a result of its own (KIP-345). v5 reason (KIP-800).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.coordinators.operation_errors import refusal
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.leave_group import LeaveGroupResponse, MemberIdentity, MemberResponse

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.leave_group import LeaveGroupRequest

MEMBERS_SINCE: Final = 3


def handle(request: LeaveGroupRequest, context: RequestContext) -> HandlerResult:
    """Check the request, and let the group decide."""
    if not request.group_id:
        return LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    listed = context.api_version >= MEMBERS_SINCE
    members = request.members if listed else [MemberIdentity(member_id=request.member_id)]

    def refused_members(error_code: ErrorCode, message: str | None) -> LeaveGroupResponse:  # noqa: ARG001
        if error_code != ErrorCode.UNKNOWN_MEMBER_ID:
            return LeaveGroupResponse(error_code=error_code)
        # The group does not exist.
        return LeaveGroupResponse(
            members=[
                MemberResponse(
                    member_id=member.member_id, group_instance_id=member.group_instance_id, error_code=error_code
                )
                for member in members
            ]
        )

    written = context.broker.coordinators.groups.write(
        request.group_id, "classic-group-leave", lambda shard: shard.classic.leave(request.group_id, members)
    )
    single = (lambda response: response) if listed else _single
    result: HandlerResult = written.then(single, lambda error: single(refusal(refused_members)(error)))
    return result


def _single(response: LeaveGroupResponse) -> LeaveGroupResponse:
    """Return the response of a request for one member, which has one error."""
    return LeaveGroupResponse(error_code=response.error_code or response.members[0].error_code)


HANDLER: Final = ApiHandler(handle=handle)
