"""The requests that voters of the metadata quorum send each other: Vote, BeginQuorumEpoch, EndQuorumEpoch. Mirrors
KafkaRaftClient.

Over a link they come from a voter. Over TCP they come from a client, even if the request names a voter: a node of a
quorum passes the request to its voter, which obeys a higher epoch as any voter does. A combined broker and controller
has no voter: the only controller continues in the epoch after the one that the request names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from broker_sim.apis.controller.active_controller import controller_view
from broker_sim.apis.controller.quorum_responses import node_endpoints
from broker_sim.controller.controller_nodes import CLIENT, QuorumNode
from broker_sim.quorum.raft_messages import is_for_metadata
from protocol_specs import registry
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from types import ModuleType

    from twisted.internet.defer import Deferred

    from broker_sim.apis.controller.controller_view import ControllerView
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.message import Message

METADATA_TOPIC: Final = "__cluster_metadata"
NO_LEADER: Final = -1
NO_VOTER: Final = -1


def serve_voter_request(request: Any, context: RequestContext, *, messages: ModuleType) -> HandlerResult:
    """Serve the request of a candidate or a leader; `messages` is the module that declares the API's messages."""
    server = controller_view(context)
    if context.replica_id >= 0:
        assert isinstance(server.node, QuorumNode), "only voters have links of their own"
        return server.node.node.voter_request(request, context.replica_id)
    response: Any = registry.response_type(context.api_key)
    if request.cluster_id not in (None, server.cluster_id):
        return response(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)  # type: ignore[no-any-return]
    if not is_for_metadata(request):
        return response(error_code=ErrorCode.INVALID_REQUEST)  # type: ignore[no-any-return]
    partition = request.topics[0].partitions[0]
    error_code = _validation_error(server, partition, context.api_key)
    if error_code:
        return _response(context, messages, error_code)
    if isinstance(server.node, QuorumNode):
        responded = server.node.node.voter_request(request, CLIENT)
        later: Deferred[Message] = responded.addCallback(lambda response: _with_endpoints(response, context, messages))
        return later
    return _response_without_quorum(request, partition, context, messages)


def _validation_error(server: ControllerView, partition: Any, api_key: int) -> ErrorCode:
    """Return the error of an invalid request, NONE for a valid one, in the order of Kafka's checks."""
    node_id, epoch = _sender(partition, api_key)
    if api_key == ApiKey.VOTE:
        # Only a pre-vote may have records of its epoch: a candidate has just raised its epoch.
        last = epoch if partition.pre_vote else epoch - 1
        if partition.last_offset < 0 or not 0 <= partition.last_offset_epoch <= last:
            return ErrorCode.INVALID_REQUEST
    if epoch < server.node.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if node_id < 0:
        return ErrorCode.INVALID_REQUEST
    if not server.unknown_voters_may_vote and node_id not in server.node.voters:
        return ErrorCode.INCONSISTENT_VOTER_SET
    return ErrorCode.NONE


def _sender(partition: Any, api_key: int) -> tuple[int, int]:
    """Return the node that sent the request, and its epoch."""
    if api_key == ApiKey.VOTE:
        return partition.replica_id, partition.replica_epoch
    return partition.leader_id, partition.leader_epoch


def _response_without_quorum(
    request: Any, partition: Any, context: RequestContext, messages: ModuleType
) -> HandlerResult:
    """Return the response of a combined broker and controller."""
    server = controller_view(context)
    node_id, epoch = _sender(partition, context.api_key)
    controller = server.node.controller
    voter_id = getattr(request, "voter_id", NO_VOTER)
    is_meant = voter_id in (NO_VOTER, server.id)
    if context.api_key == ApiKey.VOTE:
        pre_vote = partition.pre_vote
        if epoch == server.node.epoch or pre_vote:
            return _response(context, messages, ErrorCode.NONE if is_meant else ErrorCode.INVALID_VOTER_KEY)
        log = controller.metadata_log
        own_end = (log.leader_epoch, log.end_offset)
        controller.begin_epoch(epoch + 1)
        granted = is_meant and (partition.last_offset_epoch, partition.last_offset) >= own_end
        error_code = ErrorCode.NONE if is_meant else ErrorCode.INVALID_VOTER_KEY
        return _response(context, messages, error_code, granted=granted, leader_id=NO_LEADER, epoch=epoch)
    if epoch == server.node.epoch:
        return _response(context, messages, ErrorCode.NONE if is_meant else ErrorCode.INVALID_VOTER_KEY)
    controller.begin_epoch(epoch + 1)
    return _response(context, messages, ErrorCode.NONE, leader_id=node_id, epoch=epoch)


def _response(
    context: RequestContext,
    messages: ModuleType,
    error_code: ErrorCode,
    *,
    granted: bool = False,
    leader_id: int | None = None,
    epoch: int | None = None,
) -> Message:
    server = controller_view(context)
    partition = messages.ResponsePartitionData(
        partition_index=0,
        error_code=error_code,
        leader_id=server.node.leader_id if leader_id is None else leader_id,
        leader_epoch=server.node.epoch if epoch is None else epoch,
    )
    if context.api_key == ApiKey.VOTE:
        partition.vote_granted = granted
    topic = messages.ResponseTopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    response: Any = registry.response_type(context.api_key)
    return _with_endpoints(response(topics=[topic]), context, messages)


def _with_endpoints(response: Any, context: RequestContext, messages: ModuleType) -> Message:
    """Add the endpoints of the leader that the response names, in the versions that have the field (KIP-853)."""
    server = controller_view(context)
    named = [each.leader_id for topic in response.topics for each in topic.partitions]
    if context.api_version >= 1:
        response.node_endpoints = [
            messages.NodeEndpoint(node_id=node_id, host=host, port=port)
            for node_id, host, port in node_endpoints(server)
            if node_id in named
        ]
    return cast("Message", response)
