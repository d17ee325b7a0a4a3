"""DeleteGroups (api key 42): deletes empty groups with their offsets. Mirrors KafkaApis.handleDeleteGroupsRequest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import gatherResults

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.config.java_hash import hash_order, hash_set_order, string_hash
from broker_sim.coordinators.groups.coordinator_choice import uses_old_coordinator
from broker_sim.coordinators.groups.groups_by_partition import groups_by_partition
from broker_sim.coordinators.operation_errors import refused
from protocol_specs.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from twisted.internet.defer import Deferred

    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.groups.group_shard import GroupShard
    from broker_sim.coordinators.runtime.coordinator_runtime import CoordinatorRuntime
    from protocol_specs.error_codes import ErrorCode
    from protocol_specs.messages.delete_groups import DeleteGroupsRequest


def handle(request: DeleteGroupsRequest, context: RequestContext) -> HandlerResult:
    """Delete each group once, with one write per shard."""
    runtime = context.broker.coordinators.groups.runtime
    config = context.broker.config
    group_ids = list(dict.fromkeys(request.groups_names))
    writes: list[Deferred[Any]] = []
    for partition, of_shard in groups_by_partition(group_ids, runtime.partitions).items():
        ordered = hash_order(of_shard) if config.behaviour.deleted_groups_are_a_set else of_shard
        writes.append(_delete(runtime, partition, ordered))
    old_coordinator = uses_old_coordinator(config)

    def respond(results: list[list[DeletableGroupResult]]) -> DeleteGroupsResponse:
        found = [result for of_shard in results for result in of_shard]
        if old_coordinator:
            found = [found[place] for place in hash_set_order(string_hash(result.group_id) for result in found)]
        return DeleteGroupsResponse(results=found)

    response: Deferred[Any] = gatherResults(writes)
    response.addCallback(respond)
    return response


def _delete(runtime: CoordinatorRuntime[GroupShard], partition: int, group_ids: list[str]) -> Deferred[Any]:
    write = runtime.write(partition, "delete-groups", lambda shard: shard.deletion.delete(group_ids))
    return write.addErrback(refused(lambda error_code, _: _failed(group_ids, error_code)))


def error_response(
    request: DeleteGroupsRequest,
    context: RequestContext,  # noqa: ARG001
    error_code: ErrorCode,
) -> DeleteGroupsResponse:
    """One error for every group."""
    return DeleteGroupsResponse(results=_failed(request.groups_names, error_code))


def _failed(group_ids: Iterable[str], error_code: ErrorCode) -> list[DeletableGroupResult]:
    return [DeletableGroupResult(group_id=group_id, error_code=error_code) for group_id in group_ids]


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
