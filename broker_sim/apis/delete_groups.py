"""DeleteGroups (api key 42): deletes empty groups with their offsets. Mirrors KafkaApis.handleDeleteGroupsRequest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import gatherResults

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.coordinators.groups.coordinator_choice import uses_old_coordinator
from broker_sim.coordinators.groups.groups_by_partition import groups_by_partition
from broker_sim.coordinators.groups.share.state_requests import delete_state
from broker_sim.coordinators.operation_errors import refused
from protocol_specs.java_hash import hash_order, hash_set_order, immutable_set_order, string_hash
from protocol_specs.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from twisted.internet.defer import Deferred

    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.groups.group_shard import GroupShard
    from broker_sim.coordinators.groups.share.share_offsets import GroupDeletions
    from broker_sim.coordinators.groups.share.state_requests import Results
    from broker_sim.coordinators.runtime.coordinator_runtime import CoordinatorRuntime
    from broker_sim.coordinators.share.share_persister import SharePersister
    from protocol_specs.error_codes import ErrorCode
    from protocol_specs.messages.delete_groups import DeleteGroupsRequest


def handle(request: DeleteGroupsRequest, context: RequestContext) -> HandlerResult:
    """Delete each group once, with one write per shard."""
    groups = context.broker.coordinators.groups
    runtime = groups.runtime
    config = context.broker.config
    persister = context.broker.share_partitions.persister
    old_coordinator = uses_old_coordinator(config)
    group_ids = list(dict.fromkeys(request.groups_names))
    if old_coordinator:
        group_ids = [group_ids[place] for place in immutable_set_order(map(string_hash, group_ids))]
    writes: list[Deferred[Any]] = []
    for partition, of_shard in groups_by_partition(group_ids, groups.partitions).items():
        ordered = hash_order(of_shard) if config.behaviour.deleted_groups_are_a_set else of_shard
        writes.append(_delete(runtime, partition, ordered, persister))

    def respond(results: list[list[DeletableGroupResult]]) -> DeleteGroupsResponse:
        found = [result for of_shard in results for result in of_shard]
        if old_coordinator:
            found = [found[place] for place in hash_set_order(string_hash(result.group_id) for result in found)]
        return DeleteGroupsResponse(results=found)

    response: Deferred[Any] = gatherResults(writes)
    response.addCallback(respond)
    return response


def _delete(
    runtime: CoordinatorRuntime[GroupShard], partition: int, group_ids: list[str], persister: SharePersister
) -> Deferred[Any]:
    """Delete the state of share groups first: a group whose state cannot be deleted stays."""
    write = runtime.write(
        partition, "delete-share-groups", lambda shard: shard.share.offsets.begin_group_deletions(group_ids)
    ).deferred
    write.addCallback(_delete_share_state, persister)
    write.addCallback(_delete_others, runtime, partition, group_ids)
    return write.addErrback(refused(lambda error_code, _: _failed(group_ids, error_code)))


def _delete_share_state(deletions: GroupDeletions, persister: SharePersister) -> Deferred[dict[str, int]]:
    """Return the error of each share group that cannot be deleted."""
    group_ids = list(deletions.partitions)
    deleted: Deferred[list[list[int]]] = gatherResults(
        [_errors_of(delete_state(persister, each, deletions.partitions[each])) for each in group_ids]
    )

    def errors(results: list[list[int]]) -> dict[str, int]:
        refused_groups: dict[str, int] = dict(deletions.refused)
        for group_id, of_group in zip(group_ids, results, strict=True):
            if of_group:
                refused_groups[group_id] = of_group[-1]
        return refused_groups

    return deleted.addCallback(errors)


def _errors_of(deleted: Deferred[Results]) -> Deferred[list[int]]:
    results: Any = deleted.addCallback(
        lambda found: [result.error_code for result in found.values() if result.error_code]
    )
    return results.addErrback(refused(lambda error_code, _: [error_code]))  # type: ignore[no-any-return]


def _delete_others(
    errors: dict[str, int], runtime: CoordinatorRuntime[GroupShard], partition: int, group_ids: list[str]
) -> Any:
    results = [DeletableGroupResult(group_id=group_id, error_code=code) for group_id, code in errors.items()]
    others = [group_id for group_id in group_ids if group_id not in errors]
    if not others:
        return results
    write = runtime.write(partition, "delete-groups", lambda shard: shard.deletion.delete(others))
    return write.deferred.addCallback(lambda deleted: [*results, *deleted])


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
