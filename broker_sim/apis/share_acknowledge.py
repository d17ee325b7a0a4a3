"""ShareAcknowledge (api key 79): acknowledge records of a share group (KIP-932).

Mirrors KafkaApis.handleShareAcknowledgeRequest.

Versions: v1 is the first that 4.1 serves. v2 renews acquisition locks (KIP-1222), and its response has their duration.
An acknowledgement is an epoch of the member's share session as a ShareFetch is; it cannot open one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.leader_endpoints import LeaderEndpoints
from broker_sim.apis.share_requests import MOVED, Acknowledgements, Topics, is_broken_by_unknown_topic, refusal
from broker_sim.share_partitions.share_error import BrokenAcknowledgement, ShareError
from broker_sim.share_partitions.share_sessions import FINAL_EPOCH, INITIAL_EPOCH, SessionKey
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.share_acknowledge import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.apis.share_requests import Results
    from protocol_specs.message import Message
    from protocol_specs.messages.share_acknowledge import ShareAcknowledgeRequest


def handle(request: ShareAcknowledgeRequest, context: RequestContext) -> HandlerResult:
    """Advance the session, acknowledge, and respond when everything is stored."""
    refused = refusal(request, context)
    if refused is not None:
        return ShareAcknowledgeResponse(error_code=refused)
    assert request.group_id is not None
    assert request.member_id is not None
    manager = context.broker.share_partitions
    key = SessionKey(request.group_id, request.member_id)
    epoch = request.share_session_epoch
    if epoch == INITIAL_EPOCH:
        return ShareAcknowledgeResponse(error_code=ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    try:
        if epoch == FINAL_EPOCH:
            manager.sessions.get(key)
        else:
            manager.sessions.at_epoch(key, epoch).next_epoch()
    except ShareError as error:
        return ShareAcknowledgeResponse(error_code=error.error_code)
    if is_broken_by_unknown_topic(request, context):
        return ShareAcknowledgeResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    acknowledgements = Acknowledgements.of(request, context)

    def respond(results: Results) -> Message:
        if epoch == FINAL_EPOCH:
            manager.release_session(key)
        return _response(results, acknowledgements.topics, key.group_id, context)

    try:
        running = acknowledgements.run(key, context)
    except BrokenAcknowledgement:
        return ShareAcknowledgeResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    return running.addCallback(respond)


def _response(results: Results, topics: Topics, group_id: str, context: RequestContext) -> ShareAcknowledgeResponse:
    leaders = LeaderEndpoints(context)
    by_topic: dict[bytes, list[PartitionData]] = {}
    for key, error in results.items():
        data = PartitionData(partition_index=key.partition)
        if error is not None:
            data.error_code, data.error_message = error.error_code, error.text
        name = topics.name(key.topic_id)
        if data.error_code in MOVED and name is not None:
            leader_id, leader_epoch = leaders.of(TopicPartition(name, key.partition))
            data.current_leader = LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)
        by_topic.setdefault(key.topic_id, []).append(data)
    return ShareAcknowledgeResponse(
        acquisition_lock_timeout_ms=context.broker.share_partitions.settings.record_lock_ms(group_id),
        responses=[
            ShareAcknowledgeTopicResponse(topic_id=topic_id, partitions=partitions)
            for topic_id, partitions in by_topic.items()
        ],
        node_endpoints=[
            NodeEndpoint(node_id=node.id, host=node.host, port=node.port, rack=node.rack) for node in leaders.listed()
        ],
    )


HANDLER: Final = ApiHandler(handle=handle)
