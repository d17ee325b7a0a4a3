"""StreamsGroupHeartbeat (api key 88): a member of a streams group joins, stays or leaves (KIP-1071).

Precedence: the protocol is not served (35), names of topics (130), the fields (42, 130), the coordinator's state (14,
15, 16), an unknown group (69), a full group (81), an unknown member (25), its epoch (110), its topology (42, 130).
Conditions that members wait for are statuses of a response without error. The broker creates missing internal topics.
Mirrors KafkaApis.handleStreamsGroupHeartbeat and GroupCoordinatorService.streamsGroupHeartbeat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.group_requests import client_info, denied_heartbeat, may_describe
from broker_sim.apis.streams_internal_topics import create_internal_topics
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.streams.heartbeat_checks import check_heartbeat, check_topic_names, topics_of
from broker_sim.coordinators.groups.streams.streams_config import serves_streams_groups
from broker_sim.coordinators.operation_errors import refusal
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.streams_group_heartbeat import StreamsGroupHeartbeatResponse

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.groups.streams.heartbeat_result import HeartbeatResult
    from protocol_specs.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest


def handle(request: StreamsGroupHeartbeatRequest, context: RequestContext) -> HandlerResult:
    """Check the request, and let the group's shard handle it."""
    broker = context.broker
    if not serves_streams_groups(broker.config, broker.metadata_cache.image):
        return _refusal(ErrorCode.UNSUPPORTED_VERSION, None)
    denied = denied_heartbeat(request, (), context)
    if denied is not None:
        return _refusal(denied, None)
    try:
        check_topic_names(request.topology)
        if not may_describe(topics_of(request.topology), context):
            return _refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)
        check_heartbeat(request)
    except CoordinatorError as error:
        return _refusal(error.error_code, error.message)
    client = client_info(context)
    written = broker.coordinators.groups.write(
        request.group_id, "streams-group-heartbeat", lambda shard: shard.streams.heartbeat(request, client)
    )

    def respond(result: HeartbeatResult) -> StreamsGroupHeartbeatResponse:
        create_internal_topics(result, request.group_id, context)
        return result.response

    result: HandlerResult = written.then(respond, refusal(_refusal))
    return result


def _refusal(error_code: ErrorCode, message: str | None) -> StreamsGroupHeartbeatResponse:
    return StreamsGroupHeartbeatResponse(error_code=error_code, error_message=message)


HANDLER: Final = ApiHandler(handle=handle)
