"""The steps that ConsumerGroupDescribe, ShareGroupDescribe and StreamsGroupDescribe have in common.

Precedence per group: an empty id (24), the coordinator's state (14, 16), an unknown group or one of another type (69).
The state is that of the last committed offset. Mirrors the describe methods of GroupCoordinatorService.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from broker_sim.apis.group_requests import operations_on_group
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.default_messages import default_message
from broker_sim.coordinators.groups.groups_by_partition import groups_by_partition
from broker_sim.coordinators.operation_errors import client_error
from broker_sim.security.acl import AclOperation, ResourceType
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.groups.group_shard import GroupShard
    from broker_sim.coordinators.groups.modern.epoch_groups import EpochGroups

__all__ = ["described_groups"]


class _Request(Protocol):
    group_ids: list[str]
    include_authorized_operations: bool


class _DescribedGroup(Protocol):
    group_id: str
    error_code: int
    authorized_operations: int


D = TypeVar("D", bound=_DescribedGroup)


def described_groups(
    request: _Request,
    context: RequestContext,
    groups_of: Callable[[GroupShard], EpochGroups[Any, Any, D]],
    described_type: Callable[..., D],
    *,
    explains_coordinator_errors: bool = False,
) -> list[D]:
    """Return the description or the error of each group, those with an empty id first.

    With `explains_coordinator_errors` a group whose coordinator is not available has the text of its error.
    """
    groups = context.broker.coordinators.groups
    denied = [each for each in request.group_ids if not context.may(AclOperation.DESCRIBE, ResourceType.GROUP, each)]
    group_ids = [each for each in request.group_ids if each not in denied]
    described = [described_type(group_id=each, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED) for each in denied]
    described += [
        described_type(group_id=group_id, error_code=ErrorCode.INVALID_GROUP_ID)
        for group_id in group_ids
        if not group_id
    ]
    named = [group_id for group_id in group_ids if group_id]
    for partition, group_ids in groups_by_partition(named, groups.partitions).items():

        def describe(shard: GroupShard, committed_offset: int, group_ids: list[str] = group_ids) -> list[D]:
            return groups_of(shard).describe(group_ids, committed_offset)

        try:
            described += groups.runtime.read(partition, describe)
        except CoordinatorError as error:
            error_code = client_error(error.error_code)
            message = default_message(error_code) if explains_coordinator_errors else None
            described += [
                described_type(group_id=group_id, error_code=error_code, error_message=message)
                for group_id in group_ids
            ]
    if request.include_authorized_operations:
        for group in described:
            if not group.error_code:
                group.authorized_operations = operations_on_group(context, group.group_id)
    return described
