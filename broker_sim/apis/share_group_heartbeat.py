"""ShareGroupHeartbeat (api key 76): a member of a share group joins, stays or leaves (KIP-932).

Precedence: share groups are off (35), the fields (42), the coordinator's state (14, 15, 16), an unknown group or one of
another type (69), a full group (81), an unknown member (25), its epoch (110).
Mirrors KafkaApis.handleShareGroupHeartbeat and GroupCoordinatorService.shareGroupHeartbeat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.group_requests import client_info, denied_heartbeat
from broker_sim.apis.share_requests import is_valid_member
from broker_sim.config.values import TRIMMED
from broker_sim.coordinators.groups.modern.epoch_member import LEAVE_EPOCH
from broker_sim.coordinators.groups.share.state_requests import initialize_after_heartbeat
from broker_sim.coordinators.operation_errors import refusal
from broker_sim.share_partitions.share_partition_manager import shares
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.share_group_heartbeat import ShareGroupHeartbeatResponse

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.groups.share.share_groups import Heartbeat
    from protocol_specs.messages.share_group_heartbeat import ShareGroupHeartbeatRequest


def handle(request: ShareGroupHeartbeatRequest, context: RequestContext) -> HandlerResult:
    """Check the request, and let the group's shard handle it."""
    broker = context.broker
    if not shares(broker.metadata_cache.image):
        return _refusal(ErrorCode.UNSUPPORTED_VERSION, None)
    denied = denied_heartbeat(request, request.subscribed_topic_names or (), context)
    if denied is not None:
        return _refusal(denied, None)
    if not is_valid_member(request.member_id):
        return _refusal(ErrorCode.INVALID_REQUEST, None)
    invalid = _invalid(request)
    if invalid is not None:
        return _refusal(ErrorCode.INVALID_REQUEST, invalid)
    groups = broker.coordinators.groups
    client = client_info(context)

    def respond(heartbeat: Heartbeat) -> ShareGroupHeartbeatResponse:
        if heartbeat.initialize is not None:
            initialize_after_heartbeat(
                groups, broker.share_partitions.persister, request.group_id, heartbeat.initialize
            )
        return heartbeat.response

    written = groups.write(
        request.group_id,
        "share-group-heartbeat",
        lambda shard: shard.share.heartbeat(request, client),
    )
    result: HandlerResult = written.then(respond, refusal(_refusal))
    return result


def _invalid(request: ShareGroupHeartbeatRequest) -> str | None:
    """Return why a request is malformed. Mirrors throwIfShareGroupHeartbeatRequestIsInvalid."""
    fields = {"MemberId": request.member_id, "GroupId": request.group_id, "RackId": request.rack_id}
    for name, value in fields.items():
        if value is not None and not value.strip(TRIMMED):
            return f"{name} can't be empty."
    if request.member_epoch == 0 and not request.subscribed_topic_names:
        return "SubscribedTopicNames must be set in first request."
    return "MemberEpoch is invalid." if request.member_epoch < LEAVE_EPOCH else None


def _refusal(error_code: ErrorCode, message: str | None) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(error_code=error_code, error_message=message)


HANDLER: Final = ApiHandler(handle=handle)
