"""DescribeGroups (api key 15): the states and members of classic groups. Mirrors KafkaApis.handleDescribeGroupsRequest.

Versions: v3 authorized operations (KIP-430). v4 static members (KIP-345). v6 an error for a group that does not exist,
in releases that list v6 (KIP-1043); before, it is Dead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.classic.descriptions import describe
from broker_sim.coordinators.groups.coordinator_choice import uses_old_coordinator
from broker_sim.coordinators.groups.groups_by_partition import groups_by_partition
from broker_sim.coordinators.operation_errors import client_error
from protocol_specs.messages.describe_groups import DescribedGroup, DescribeGroupsResponse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.groups.group_shard import GroupShard
    from protocol_specs.error_codes import ErrorCode
    from protocol_specs.messages.describe_groups import DescribeGroupsRequest

UNKNOWN_IS_ERROR_SINCE: Final = 6
OPERATIONS_SINCE: Final = 3


def handle(request: DescribeGroupsRequest, context: RequestContext) -> DescribeGroupsResponse:
    """Describe each group; a shard that is not here, or is loading, gives each of its groups an error."""
    groups = context.broker.coordinators.groups
    config = context.broker.config
    old_coordinator = uses_old_coordinator(config)
    by_partition = groups_by_partition(request.groups, groups.partitions)
    described: list[DescribedGroup] = []
    for partition, group_ids in by_partition.items():

        def read(shard: GroupShard, committed_offset: int, group_ids: list[str] = group_ids) -> list[DescribedGroup]:
            return [
                describe(
                    shard.groups,
                    group_id,
                    committed_offset,
                    unknown_is_error=context.api_version >= UNKNOWN_IS_ERROR_SINCE,
                    old_coordinator=old_coordinator,
                )
                for group_id in group_ids
            ]

        try:
            described += groups.runtime.read(partition, read)
        except CoordinatorError as error:
            described += _failed(group_ids, client_error(error.error_code))
    if old_coordinator:
        by_id = {group.group_id: group for group in described}
        described = [by_id[group_id] for group_id in request.groups]
    if request.include_authorized_operations and context.api_version >= OPERATIONS_SINCE:
        for group in described:
            if not group.error_code:
                group.authorized_operations = config.behaviour.group_operations
    return DescribeGroupsResponse(groups=described)


def error_response(
    request: DescribeGroupsRequest,
    context: RequestContext,  # noqa: ARG001
    error_code: ErrorCode,
) -> DescribeGroupsResponse:
    """One error for every group."""
    return DescribeGroupsResponse(groups=_failed(request.groups, error_code))


def _failed(group_ids: Iterable[str], error_code: ErrorCode) -> list[DescribedGroup]:
    return [DescribedGroup(group_id=group_id, error_code=error_code) for group_id in group_ids]


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
