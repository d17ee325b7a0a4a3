"""ShareGroupDescribe (api key 77): the epochs, members and assignments of share groups (KIP-932).

Precedence: share groups are off (35), then per group: an empty id (24), the coordinator's state (14, 16), an unknown
group or one of another type (69). The state is that of the last committed offset. Mirrors
KafkaApis.handleShareGroupDescribe and GroupCoordinatorService.shareGroupDescribe.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.default_messages import default_message
from broker_sim.coordinators.groups.groups_by_partition import groups_by_partition
from broker_sim.coordinators.operation_errors import client_error
from broker_sim.share_partitions.share_partition_manager import shares
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.share_group_describe import DescribedGroup, ShareGroupDescribeResponse

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.groups.group_shard import GroupShard
    from protocol_specs.messages.share_group_describe import ShareGroupDescribeRequest

_OPERATIONS: Final = 3400
"""All operations on a group as bits: READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS."""


def handle(request: ShareGroupDescribeRequest, context: RequestContext) -> ShareGroupDescribeResponse:
    """Describe the groups, those with an empty id first."""
    broker = context.broker
    if not shares(broker.metadata_cache.image):
        return error_response(request, context, ErrorCode.UNSUPPORTED_VERSION)
    runtime = broker.coordinators.groups.runtime
    described = [_refusal(group_id, ErrorCode.INVALID_GROUP_ID) for group_id in request.group_ids if not group_id]
    named = [group_id for group_id in request.group_ids if group_id]
    for partition, group_ids in groups_by_partition(named, runtime.partitions).items():
        try:
            described += runtime.read(partition, partial(_describe, group_ids))
        except CoordinatorError as error:
            error_code = client_error(error.error_code)
            described += [_refusal(group_id, error_code, default_message(error_code)) for group_id in group_ids]
    if request.include_authorized_operations:
        for group in described:
            if not group.error_code:
                group.authorized_operations = _OPERATIONS
    return ShareGroupDescribeResponse(groups=described)


def _describe(group_ids: list[str], shard: GroupShard, committed_offset: int) -> list[DescribedGroup]:
    return shard.share.describe(group_ids, committed_offset)


def error_response(
    request: ShareGroupDescribeRequest,
    context: RequestContext,  # noqa: ARG001
    error_code: ErrorCode,
) -> ShareGroupDescribeResponse:
    """Return the error for every group."""
    return ShareGroupDescribeResponse(groups=[_refusal(group_id, error_code) for group_id in request.group_ids])


def _refusal(group_id: str, error_code: ErrorCode, message: str | None = None) -> DescribedGroup:
    return DescribedGroup(group_id=group_id, error_code=error_code, error_message=message)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
