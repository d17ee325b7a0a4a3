"""Vote (api key 52), BeginQuorumEpoch (53), EndQuorumEpoch (54) and UpdateRaftVoter (82) at a controller. Mirrors
KafkaRaftClient.

Who asks here is no voter of the cluster, whatever it says. A node of a quorum lets its voter answer, and obeys a higher
epoch as any voter does. A broker that is a controller too has none: the controller that never fails goes on in the
epoch after the one that it has been told of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from broker_sim.apis.kafka_apis import ApiHandler
from broker_sim.controller.describe_quorum import LISTENER_NAME
from broker_sim.controller.server.controller_node_view import CLIENT, QuorumNode
from broker_sim.controller.server.quorum_answers import node_endpoints, refusal_of_leader
from broker_sim.quorum.raft_messages import is_for_metadata
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages import begin_quorum_epoch, end_quorum_epoch, vote
from protocol_specs.messages.update_raft_voter import CurrentLeader, UpdateRaftVoterResponse
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

    from broker_sim.apis.request_context import HandlerResult, RequestContext
    from broker_sim.controller.server.controller_server import ControllerServer
    from protocol_specs.message import Message
    from protocol_specs.messages.update_raft_voter import UpdateRaftVoterRequest

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


def answer_voter(request: Any, context: RequestContext) -> HandlerResult:
    """Answer who wants to be, is or was the leader."""
    server = cast("ControllerServer", context.broker)
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
        answered = server.node.node.handle_link_request(request, CLIENT)
        later: Deferred[Message] = answered.addCallback(lambda answer: _with_endpoints(answer, context))
        return later
    return _answer_alone(request, asked, context)


def _refusal(server: ControllerServer, asked: Any, api_key: int) -> ErrorCode:
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
    if not server.strangers_may_vote and node_id not in server.node.voters:
        return ErrorCode.INCONSISTENT_VOTER_SET
    return ErrorCode.NONE


def _who(asked: Any, api_key: int) -> tuple[int, int]:
    if api_key == ApiKey.VOTE:
        return asked.replica_id, asked.replica_epoch
    return asked.leader_id, asked.leader_epoch


def _answer_alone(request: Any, asked: Any, context: RequestContext) -> HandlerResult:
    """The answer where no quorum is at work."""
    server = cast("ControllerServer", context.broker)
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
    server = cast("ControllerServer", context.broker)
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
    server = cast("ControllerServer", context.broker)
    named = [each.leader_id for topic in response.topics for each in topic.partitions]
    if context.api_version >= 1:
        response.node_endpoints = [
            module.NodeEndpoint(node_id=node_id, host=host, port=port)
            for node_id, host, port in node_endpoints(server)
            if node_id in named
        ]
    return cast("Message", response)


# Voters that tell where they listen --------------------------------------------------------------------------


def update_raft_voter(request: UpdateRaftVoterRequest, context: RequestContext) -> UpdateRaftVoterResponse:
    """Refuse, for the first reason that there is: a voter of this cluster tells its endpoint when it registers."""
    server = cast("ControllerServer", context.broker)
    response = UpdateRaftVoterResponse(error_code=_update_refusal(request, server))
    for node_id, host, port in node_endpoints(server):
        response.current_leader = CurrentLeader(leader_id=node_id, leader_epoch=server.node.epoch, host=host, port=port)
    return response


def _update_refusal(request: UpdateRaftVoterRequest, server: ControllerServer) -> ErrorCode:
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


HANDLERS: Final = (
    ApiHandler(api_key=ApiKey.VOTE, handle=answer_voter),
    ApiHandler(api_key=ApiKey.BEGIN_QUORUM_EPOCH, handle=answer_voter),
    ApiHandler(api_key=ApiKey.END_QUORUM_EPOCH, handle=answer_voter),
    ApiHandler(api_key=ApiKey.UPDATE_RAFT_VOTER, handle=update_raft_voter),
)
