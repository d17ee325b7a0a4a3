"""JoinGroup (api key 11): a member joins a classic group. Mirrors KafkaApis.handleJoinGroupRequest.

Versions: v1 rebalance time-out (before: the session's). v4 members join again with the id that they receive (KIP-394).
v5 static members (KIP-345). v7 protocol type, and null for a missing protocol. v8 reason (KIP-800). v9 a leader that
replaces a static member skips the assignment (KIP-814). The response waits until the join phase of the group ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.group_requests import client_info
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.classic.group_limits import UNLIMITED, group_limit
from broker_sim.coordinators.groups.classic.parked_response import ParkedResponse
from broker_sim.coordinators.groups.classic.responses import as_version, join_refusal
from broker_sim.coordinators.groups.coordinator_choice import uses_old_coordinator
from broker_sim.coordinators.operation_errors import client_error, refusal
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.join_group import JoinGroupRequest, JoinGroupResponse


def handle(request: JoinGroupRequest, context: RequestContext) -> HandlerResult:
    """Check the request, and let the group decide."""
    try:
        _check(request, context)
    except CoordinatorError as error:
        return _finished(join_refusal(client_error(error.error_code), request.member_id), context)
    client = client_info(context)
    parked: ParkedResponse[JoinGroupResponse] = ParkedResponse()
    names_member = uses_old_coordinator(context.broker.config)
    written = context.broker.coordinators.groups.write(
        request.group_id, "classic-group-join", lambda shard: shard.classic.join(request, client, parked)
    )

    def refuse(error_code: ErrorCode, _: str | None) -> None:
        is_exception = error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        parked.complete(join_refusal(error_code, request.member_id if names_member and not is_exception else ""))

    written.then(lambda _: None, refusal(refuse))
    parked.deferred.addCallback(lambda response: _finished(response, context))
    return parked.deferred


def error_response(request: JoinGroupRequest, context: RequestContext, error_code: ErrorCode) -> JoinGroupResponse:  # noqa: ARG001
    """The whole request fails."""
    return _finished(join_refusal(error_code), context)


def _finished(response: JoinGroupResponse, context: RequestContext) -> JoinGroupResponse:
    no_generation = context.behaviour.refused_join_generation
    return as_version(response, context.api_version, no_generation=no_generation)


def _check(request: JoinGroupRequest, context: RequestContext) -> None:
    """Check the group id and the session time-out; the old coordinator looks for the group between them.

    Raises:
        CoordinatorError: INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT, or the error of the shard.
    """
    config = context.broker.config
    if not request.group_id:
        raise CoordinatorError(ErrorCode.INVALID_GROUP_ID)
    if uses_old_coordinator(config):
        context.broker.coordinators.groups.read(request.group_id, lambda *_: None)
    lowest = group_limit(config, "group.min.session.timeout.ms", 0)
    highest = group_limit(config, "group.max.session.timeout.ms", UNLIMITED)
    if not lowest <= request.session_timeout_ms <= highest:
        raise CoordinatorError(ErrorCode.INVALID_SESSION_TIMEOUT)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
