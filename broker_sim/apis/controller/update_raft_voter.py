"""UpdateRaftVoter (api key 82, 4.x) at a controller: a voter announces where it listens (KIP-853). Mirrors
KafkaRaftClient.handleUpdateVoterRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import controller_view
from broker_sim.apis.controller.quorum_responses import node_endpoints, refusal_of_leader
from broker_sim.controller.quorum_description import LISTENER_NAME
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.update_raft_voter import CurrentLeader, UpdateRaftVoterResponse
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from broker_sim.apis.controller.controller_view import ControllerView
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.update_raft_voter import UpdateRaftVoterRequest


def handle(request: UpdateRaftVoterRequest, context: RequestContext) -> UpdateRaftVoterResponse:
    """Refuse, for the first reason that applies: a voter of this cluster announces its endpoint when it registers."""
    server = controller_view(context)
    response = UpdateRaftVoterResponse(error_code=_update_refusal(request, server))
    for node_id, host, port in node_endpoints(server):
        response.current_leader = CurrentLeader(leader_id=node_id, leader_epoch=server.node.epoch, host=host, port=port)
    return response


def _update_refusal(request: UpdateRaftVoterRequest, server: ControllerView) -> ErrorCode:
    if request.cluster_id not in (None, server.cluster_id):
        return ErrorCode.INCONSISTENT_CLUSTER_ID
    error_code = refusal_of_leader(server.node, request.current_leader_epoch)
    if error_code:
        return error_code
    levels = request.k_raft_version_feature
    if (
        request.voter_id < 0
        or request.voter_directory_id == ZERO_UUID
        or all(each.name.upper() != LISTENER_NAME for each in request.listeners)
        or not 0 <= levels.min_supported_version <= levels.max_supported_version
    ):
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.VOTER_NOT_FOUND if request.voter_id not in server.node.voters else ErrorCode.NONE


HANDLER: Final = ApiHandler(handle=handle)
