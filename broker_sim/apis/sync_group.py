"""SyncGroup (api key 14): the leader of a classic group sends the assignment, each member gets its own. Mirrors
KafkaApis.handleSyncGroupRequest.

Versions: v3 static members (KIP-345). v5 protocol type and name, which must be given (KIP-559). The response waits for
the leader's request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.group_requests import client_info
from broker_sim.coordinators.groups.classic.parked_response import ParkedResponse
from broker_sim.coordinators.groups.classic.responses import sync_refusal
from broker_sim.coordinators.groups.coordinator_choice import uses_old_coordinator
from broker_sim.coordinators.operation_errors import refusal
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.sync_group import SyncGroupRequest, SyncGroupResponse

PROTOCOL_SINCE: Final = 5


def handle(request: SyncGroupRequest, context: RequestContext) -> HandlerResult:
    """Check the request, and let the group decide."""
    if context.api_version >= PROTOCOL_SINCE and (request.protocol_type is None or request.protocol_name is None):
        return sync_refusal(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if not request.group_id:
        return sync_refusal(ErrorCode.INVALID_GROUP_ID)
    client = client_info(context)
    parked: ParkedResponse[SyncGroupResponse] = ParkedResponse()
    loading_is_rebalance = uses_old_coordinator(context.broker.config)

    def refuse(error_code: ErrorCode, message: str | None) -> None:  # noqa: ARG001
        if loading_is_rebalance and error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            # Old clients do not expect the error; the group's rebalance is lost with the state.
            error_code = ErrorCode.REBALANCE_IN_PROGRESS
        parked.complete(sync_refusal(error_code))

    written = context.broker.coordinators.groups.write(
        request.group_id, "classic-group-sync", lambda shard: shard.classic.sync(request, client, parked)
    )
    written.then(lambda _: None, refusal(refuse))
    return parked.deferred


HANDLER: Final = ApiHandler(handle=handle)
