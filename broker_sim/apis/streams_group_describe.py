"""StreamsGroupDescribe (api key 89): the epochs, topology, members and tasks of streams groups (KIP-1071).

Precedence: the protocol is not served (35), then per group: an empty id (24), the coordinator's state (14, 16), an
unknown group or one of another type (69). The state is that of the last committed offset. Mirrors
KafkaApis.handleStreamsGroupDescribe and GroupCoordinatorService.streamsGroupDescribe.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.groups_by_partition import groups_by_partition
from broker_sim.coordinators.groups.streams.streams_config import serves_streams_groups
from broker_sim.coordinators.operation_errors import client_error
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.streams_group_describe import DescribedGroup, StreamsGroupDescribeResponse

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.groups.group_shard import GroupShard
    from protocol_specs.messages.streams_group_describe import StreamsGroupDescribeRequest


def handle(request: StreamsGroupDescribeRequest, context: RequestContext) -> StreamsGroupDescribeResponse:
    """Describe the groups, those with an empty id first."""
    broker = context.broker
    if not serves_streams_groups(broker.config, broker.metadata_cache.image):
        return error_response(request, context, ErrorCode.UNSUPPORTED_VERSION)
    coordinator = broker.coordinators.groups
    described = [_refusal(group_id, ErrorCode.INVALID_GROUP_ID) for group_id in request.group_ids if not group_id]
    named = [group_id for group_id in request.group_ids if group_id]
    for partition, group_ids in groups_by_partition(named, coordinator.runtime.partitions).items():
        try:
            described += coordinator.runtime.read(partition, partial(_describe, group_ids))
        except CoordinatorError as error:
            described += [_refusal(group_id, client_error(error.error_code)) for group_id in group_ids]
    if request.include_authorized_operations:
        for group in described:
            if not group.error_code:
                group.authorized_operations = broker.config.behaviour.group_operations
    return StreamsGroupDescribeResponse(groups=described)


def _describe(group_ids: list[str], shard: GroupShard, committed_offset: int) -> list[DescribedGroup]:
    return shard.streams.describe(group_ids, committed_offset)


def error_response(
    request: StreamsGroupDescribeRequest,
    context: RequestContext,  # noqa: ARG001
    error_code: ErrorCode,
) -> StreamsGroupDescribeResponse:
    """Return the error for every group."""
    return StreamsGroupDescribeResponse(groups=[_refusal(group_id, error_code) for group_id in request.group_ids])


def _refusal(group_id: str, error_code: ErrorCode) -> DescribedGroup:
    return DescribedGroup(group_id=group_id, error_code=error_code)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
