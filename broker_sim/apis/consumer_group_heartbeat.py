"""ConsumerGroupHeartbeat (api key 68): a member of a consumer group joins, stays or leaves (KIP-848).

Versions: v1 has regular expressions, and member ids that clients make (KIP-1082).

Precedence: the protocol is not served (35), the fields (42, 112), the coordinator's state (14, 15, 16), an unknown
group (69), a full group (81), an unknown member (25), its instance id (82, 111), its epoch (110), its expression (128).
Mirrors KafkaApis.handleConsumerGroupHeartbeat and GroupCoordinatorService.consumerGroupHeartbeat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.group_requests import client_info, denied_heartbeat
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.default_messages import default_message
from broker_sim.coordinators.groups.consumer.availability import serves_consumer_groups
from broker_sim.coordinators.groups.consumer.consumer_config import supported_assignors
from broker_sim.coordinators.groups.consumer.heartbeat_checks import check_heartbeat
from broker_sim.coordinators.operation_errors import refusal
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


def handle(request: ConsumerGroupHeartbeatRequest, context: RequestContext) -> HandlerResult:
    """Check the request, and let the group's shard handle it."""
    broker = context.broker
    if not serves_consumer_groups(broker.config, broker.metadata_cache.image):
        return _refusal(ErrorCode.UNSUPPORTED_VERSION, None)
    denied = denied_heartbeat(request, request.subscribed_topic_names or (), context)
    if denied is not None:
        return _refusal(denied, None)
    try:
        check_heartbeat(
            request,
            context.api_version,
            supported_assignors(broker.config),
            is_preview=broker.config.behaviour.consumer_groups_are_previews,
            blanks_are_empty=not broker.config.behaviour.consumer_groups_are_first_previews,
        )
    except CoordinatorError as error:
        return _refusal(error.error_code, error.message)
    client = client_info(context)
    written = broker.coordinators.groups.write(
        request.group_id,
        "consumer-group-heartbeat",
        lambda shard: shard.consumer.heartbeat(request, client),
    )
    sends_texts = broker.config.behaviour.consumer_groups_are_first_previews

    def refuse(error_code: ErrorCode, message: str | None) -> ConsumerGroupHeartbeatResponse:
        has_text = message is not None or error_code == ErrorCode.UNKNOWN_SERVER_ERROR  # that of an exception, or null
        return _refusal(error_code, default_message(error_code) if sends_texts and not has_text else message)

    result: HandlerResult = written.then(lambda response: response, refusal(refuse))
    return result


def _refusal(error_code: ErrorCode, message: str | None) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error_code, error_message=message)


HANDLER: Final = ApiHandler(handle=handle)
