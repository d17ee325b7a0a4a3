"""FetchSnapshot (api key 59) at a controller (KIP-630). Mirrors KafkaRaftClient.handleFetchSnapshotRequest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import active_controller, controller_view
from broker_sim.apis.controller.quorum_responses import node_endpoints, refusal_of_leader
from broker_sim.controller.controller_nodes import QuorumNode
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    NodeEndpoint,
    TopicSnapshot,
)

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext

METADATA_TOPIC: Final = "__cluster_metadata"
SNAPSHOT_ENDPOINTS_SINCE: Final = 1


def handle(request: FetchSnapshotRequest, context: RequestContext) -> HandlerResult:
    """Return a part of the present snapshot.

    For every error of the partition a real controller fails to write its response, which has no records, and returns an
    unexpected error for the whole request. It terminates when a request names no partition at all.
    """
    server = controller_view(context)
    if context.replica_id in server.node.voters and isinstance(server.node, QuorumNode):
        return server.node.node.voter_request(request, context.replica_id)
    if context.replica_id >= 0:
        return active_controller(context).fetch_snapshot(request)
    if request.cluster_id not in (None, server.cluster_id):
        return FetchSnapshotResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    topics = request.topics
    if len(topics) > 1 and len(topics[0].partitions) != 1:
        return FetchSnapshotResponse(error_code=ErrorCode.INVALID_REQUEST)
    requested = next(
        (each for topic in topics if topic.name == METADATA_TOPIC for each in topic.partitions if each.partition == 0),
        None,
    )
    if requested is None or refusal_of_leader(server.node, requested.current_leader_epoch):
        return FetchSnapshotResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    alone = FetchSnapshotRequest(
        cluster_id=request.cluster_id,
        replica_id=request.replica_id,
        max_bytes=request.max_bytes,
        topics=[TopicSnapshot(name=METADATA_TOPIC, partitions=[requested])],
    )
    response = server.node.controller.fetch_snapshot(alone)
    if response.topics and response.topics[0].partitions[0].error_code:
        return FetchSnapshotResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    if context.api_version >= SNAPSHOT_ENDPOINTS_SINCE:
        response.node_endpoints = [
            NodeEndpoint(node_id=node_id, host=host, port=port) for node_id, host, port in node_endpoints(server)
        ]
    return response


HANDLER: Final = ApiHandler(handle=handle)
