"""Heartbeat (api key 12): a member of a classic group keeps its session. Mirrors KafkaApis.handleHeartbeatRequest.

Versions: v3 static members (KIP-345). A group that is loading returns no error: its members keep their sessions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.group_requests import client_info
from broker_sim.coordinators.operation_errors import refusal
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.heartbeat import HeartbeatResponse

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.heartbeat import HeartbeatRequest


def handle(request: HeartbeatRequest, context: RequestContext) -> HandlerResult:
    """Check the request, and let the group decide."""
    if not request.group_id:
        return HeartbeatResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    client = client_info(context)
    written = context.broker.coordinators.groups.write(
        request.group_id, "classic-group-heartbeat", lambda shard: shard.classic.heartbeat(request, client)
    )
    result: HandlerResult = written.then(_response, refusal(_refusal))
    return result


def _response(error_code: ErrorCode) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=error_code)


def _refusal(error_code: ErrorCode, message: str | None) -> HeartbeatResponse:  # noqa: ARG001
    loading = error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return HeartbeatResponse(error_code=ErrorCode.NONE if loading else error_code)


HANDLER: Final = ApiHandler(handle=handle)
