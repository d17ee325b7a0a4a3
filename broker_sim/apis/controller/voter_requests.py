"""The requests that voters of the metadata quorum send each other: Vote, BeginQuorumEpoch, EndQuorumEpoch. Mirrors
KafkaRaftClient.

Over a link they come from a voter. Over TCP they do not, whatever the request says: a node of a quorum gives the
request to its voter, and obeys a higher epoch as any voter does. A broker that is a controller too has no voter: the
controller that never fails goes on in the epoch after the one that the request names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from broker_sim.apis.controller.active_controller import controller_view
from broker_sim.apis.controller.quorum_responses import node_endpoints
from broker_sim.controller.controller_nodes import CLIENT, QuorumNode
from broker_sim.quorum.raft_messages import is_for_metadata
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages import begin_quorum_epoch, end_quorum_epoch, vote

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

    from broker_sim.apis.controller.controller_view import ControllerView
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.message import Message

METADATA_TOPIC: Final = "__cluster_metadata"
NOBODY: Final = -1
_OF_API: Final[dict[int, Any]] = {
    ApiKey.VOTE: vote,
    ApiKey.BEGIN_QUORUM_EPOCH: begin_quorum_epoch,
    ApiKey.END_QUORUM_EPOCH: end_quorum_epoch,
}
_RESPONSES: Final[dict[int, Any]] = {
    ApiKey.VOTE: vote.VoteResponse,
    ApiKey.BEGIN_QUORUM_EPOCH: begin_quorum_epoch.BeginQuorumEpochResponse,
    ApiKey.END_QUORUM_EPOCH: end_quorum_epoch.EndQuorumEpochResponse,
}


def serve_voter_request(request: Any, context: RequestContext) -> HandlerResult:
    """Serve a request of one that wants to be, is or was the leader."""
    server = controller_view(context)
    if context.replica_id >= 0:
        assert isinstance(server.node, QuorumNode), "only voters have links of their own"
        return server.node.node.voter_request(request, context.replica_id)
    response = _RESPONSES[context.api_key]
    if request.cluster_id not in (None, server.cluster_id):
        return response(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)  # type: ignore[no-any-return]
    if not is_for_metadata(request):
        return response(error_code=ErrorCode.INVALID_REQUEST)  # type: ignore[no-any-return]
    asked = request.topics[0].partitions[0]
    error_code = _refusal(server, asked, context.api_key)
    if error_code:
        return _answer(context, error_code)
    if isinstance(server.node, QuorumNode):
        answered = server.node.node.voter_request(request, CLIENT)
        later: Deferred[Message] = answered.addCallback(lambda answer: _with_endpoints(answer, context))
        return later
    return _answer_alone(request, asked, context)


def _refusal(server: ControllerView, asked: Any, api_key: int) -> ErrorCode:
    """Why a request is wrong in itself, in the order of Kafka's checks."""
    node_id, epoch = _who(asked, api_key)
    if api_key == ApiKey.VOTE:
        # Who only asks in advance may have records of its present epoch; a candidate has just raised it.
        last = epoch if asked.pre_vote else epoch - 1
        if asked.last_offset < 0 or not 0 <= asked.last_offset_epoch <= last:
            return ErrorCode.INVALID_REQUEST
    if epoch < server.node.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if node_id < 0:
        return ErrorCode.INVALID_REQUEST
    if not server.unknown_voters_may_vote and node_id not in server.node.voters:
        return ErrorCode.INCONSISTENT_VOTER_SET
    return ErrorCode.NONE


def _who(asked: Any, api_key: int) -> tuple[int, int]:
    if api_key == ApiKey.VOTE:
        return asked.replica_id, asked.replica_epoch
    return asked.leader_id, asked.leader_epoch


def _answer_alone(request: Any, asked: Any, context: RequestContext) -> HandlerResult:
    """The answer where no quorum is at work."""
    server = controller_view(context)
    node_id, epoch = _who(asked, context.api_key)
    controller = server.node.controller
    voter_id = getattr(request, "voter_id", NOBODY)
    is_meant = voter_id in (NOBODY, server.id)
    if context.api_key == ApiKey.VOTE:
        pre_vote = asked.pre_vote
        if epoch == server.node.epoch or pre_vote:
            return _answer(context, ErrorCode.NONE if is_meant else ErrorCode.INVALID_VOTER_KEY)
        log = controller.metadata_log
        own_end = (log.leader_epoch, log.end_offset)
        controller.begin_epoch(epoch + 1)
        granted = is_meant and (asked.last_offset_epoch, asked.last_offset) >= own_end
        error_code = ErrorCode.NONE if is_meant else ErrorCode.INVALID_VOTER_KEY
        return _answer(context, error_code, granted=granted, leader_id=NOBODY, epoch=epoch)
    if epoch == server.node.epoch:
        return _answer(context, ErrorCode.NONE if is_meant else ErrorCode.INVALID_VOTER_KEY)
    controller.begin_epoch(epoch + 1)
    return _answer(context, ErrorCode.NONE, leader_id=node_id, epoch=epoch)


def _answer(
    context: RequestContext,
    error_code: ErrorCode,
    *,
    granted: bool = False,
    leader_id: int | None = None,
    epoch: int | None = None,
) -> Message:
    server = controller_view(context)
    module = _OF_API[context.api_key]
    partition = module.ResponsePartitionData(
        partition_index=0,
        error_code=error_code,
        leader_id=server.node.leader_id if leader_id is None else leader_id,
        leader_epoch=server.node.epoch if epoch is None else epoch,
    )
    if context.api_key == ApiKey.VOTE:
        partition.vote_granted = granted
    topic = module.ResponseTopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    return _with_endpoints(_RESPONSES[context.api_key](topics=[topic]), context)


def _with_endpoints(response: Any, context: RequestContext) -> Message:
    """Where the leader listens, as far as the answer names one, in the versions that tell it (KIP-853)."""
    module = _OF_API[context.api_key]
    server = controller_view(context)
    named = [each.leader_id for topic in response.topics for each in topic.partitions]
    if context.api_version >= 1:
        response.node_endpoints = [
            module.NodeEndpoint(node_id=node_id, host=host, port=port)
            for node_id, host, port in node_endpoints(server)
            if node_id in named
        ]
    return cast("Message", response)
