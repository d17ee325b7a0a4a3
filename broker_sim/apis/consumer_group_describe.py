"""ConsumerGroupDescribe (api key 69): the epochs, members and assignments of consumer groups (KIP-848).

Versions: v1 has the protocol of each member (KIP-1099).

Precedence: the protocol is not served (35), then per group: an empty id (24), the coordinator's state (14, 16), an
unknown group or one of another type (69). The state is that of the last committed offset. Mirrors
KafkaApis.handleConsumerGroupDescribe and GroupCoordinatorService.consumerGroupDescribe.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.consumer.availability import serves_consumer_groups
from broker_sim.coordinators.groups.groups_by_partition import groups_by_partition
from broker_sim.coordinators.operation_errors import client_error
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.consumer_group_describe import ConsumerGroupDescribeResponse, DescribedGroup

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.groups.group_shard import GroupShard
    from protocol_specs.messages.consumer_group_describe import ConsumerGroupDescribeRequest


def handle(request: ConsumerGroupDescribeRequest, context: RequestContext) -> ConsumerGroupDescribeResponse:
    """Describe the groups, those with an empty id first."""
    broker = context.broker
    if not serves_consumer_groups(broker.config, broker.metadata_cache.image):
        return error_response(request, context, ErrorCode.UNSUPPORTED_VERSION)
    coordinator = broker.coordinators.groups
    described = [_refusal(group_id, ErrorCode.INVALID_GROUP_ID) for group_id in request.group_ids if not group_id]
    by_partition = groups_by_partition(
        [group_id for group_id in request.group_ids if group_id], coordinator.runtime.partitions
    )
    for partition, group_ids in by_partition.items():
        try:
            described += coordinator.runtime.read(partition, partial(_describe, group_ids))
        except CoordinatorError as error:
            described += [_refusal(group_id, client_error(error.error_code)) for group_id in group_ids]
    if request.include_authorized_operations:
        for group in described:
            if not group.error_code:
                group.authorized_operations = broker.config.behaviour.group_operations
    return ConsumerGroupDescribeResponse(groups=described)


def _describe(group_ids: list[str], shard: GroupShard, committed_offset: int) -> list[DescribedGroup]:
    return shard.consumer.describe(group_ids, committed_offset)


def error_response(
    request: ConsumerGroupDescribeRequest,
    context: RequestContext,  # noqa: ARG001
    error_code: ErrorCode,
) -> ConsumerGroupDescribeResponse:
    """Return the error for every group."""
    return ConsumerGroupDescribeResponse(groups=[_refusal(group_id, error_code) for group_id in request.group_ids])


def _refusal(group_id: str, error_code: ErrorCode) -> DescribedGroup:
    return DescribedGroup(group_id=group_id, error_code=error_code)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
