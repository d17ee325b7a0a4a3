"""ListGroups (api key 16): the groups that a broker coordinates. Mirrors KafkaApis.handleListGroupsRequest.

Versions: v4 states and their filter (KIP-518). v5 types and their filter (KIP-848). The old coordinator lists what is
loaded, with an error while a shard loads; the new one then lists nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.coordinator_choice import uses_old_coordinator
from broker_sim.coordinators.operation_errors import client_error
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.list_groups import ListedGroup, ListGroupsResponse

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.groups.group_shard import GroupShard
    from protocol_specs.messages.list_groups import ListGroupsRequest


def handle(request: ListGroupsRequest, context: RequestContext) -> ListGroupsResponse:
    """List the groups of all shards that pass the filters."""
    runtime = context.broker.coordinators.groups.runtime
    old_coordinator = uses_old_coordinator(context.broker.config)
    any_case = context.broker.config.behaviour.group_states_are_filtered_in_any_case
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
            for group in shard.groups.all_at(committed_offset)
        ]
        return [
            group
            for group in listed
            if (not states or _folded(group.group_state, any_case=any_case) in states)
            and (not types or group.group_type in types)
        ]

    response = ListGroupsResponse()
    for partition in runtime.active_partitions:
        try:
            response.groups += runtime.read(partition, read)
        except CoordinatorError as error:
            if error.error_code == ErrorCode.NOT_COORDINATOR:
                continue
            response.error_code = client_error(error.error_code)
    if response.error_code and not old_coordinator:
        response.groups = []
    return response


def _folded(state: str, *, any_case: bool) -> str:
    return state.strip().lower() if any_case else state


HANDLER: Final = ApiHandler(handle=handle)
