"""ListGroups (api key 16): the groups that a broker coordinates. Mirrors KafkaApis.handleListGroupsRequest.

Versions: v4 states and their filter (KIP-518). v5 types and their filter (KIP-848). The old coordinator lists what is
loaded, with an error while a shard loads; the new one then lists nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.config.values import TRIMMED
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.coordinator_choice import uses_old_coordinator
from broker_sim.coordinators.operation_errors import client_error
from broker_sim.coordinators.runtime.coordinator_record import Log
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import concurrent_order, topic_partition_hash
from protocol_specs.messages.list_groups import ListedGroup, ListGroupsResponse

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.groups.group_shard import GroupShard
    from protocol_specs.messages.list_groups import ListGroupsRequest


def handle(request: ListGroupsRequest, context: RequestContext) -> ListGroupsResponse:
    """List the groups of all shards that pass the filters."""
    groups = context.broker.coordinators.groups
    runtime = groups.runtime
    old_coordinator = uses_old_coordinator(context.broker.config)
    any_case = context.behaviour.group_states_are_filtered_in_any_case
    states = {_folded(state, any_case=any_case) for state in request.states_filter}
    types = {name.lower() for name in request.types_filter}

    def read(shard: GroupShard, committed_offset: int) -> list[ListedGroup]:
        listed = [
            ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type(committed_offset),
                group_state=group.state_name(committed_offset),
                group_type=group.type.value,
            )
            for group in shard.groups.all(committed_offset)
        ]
        return [
            group
            for group in listed
            if (not states or _folded(group.group_state, any_case=any_case) in states)
            and (not types or group.group_type in types)
        ]

    response = ListGroupsResponse()
    for partition in _as_listed(runtime.active_partitions):
        try:
            response.groups += runtime.read(partition, read)
        except CoordinatorError as error:
            if error.error_code == ErrorCode.NOT_COORDINATOR:
                continue
            response.error_code = client_error(error.error_code)
    if old_coordinator:
        listed = {group.group_id: group for group in response.groups}
        response.groups = [listed[group_id] for group_id in groups.old_order if group_id in listed]
    elif response.error_code:
        response.groups = []
    return response


def _as_listed(partitions: list[int]) -> list[int]:
    """Return partitions in the order of the ConcurrentHashMap of a runtime's shards."""
    hashes = [topic_partition_hash(Log.CONSUMER_OFFSETS.value, partition) for partition in partitions]
    return [partitions[place] for place in concurrent_order(hashes, count=len(partitions))]


def _folded(state: str, *, any_case: bool) -> str:
    return state.strip(TRIMMED).lower() if any_case else state


HANDLER: Final = ApiHandler(handle=handle)
