"""The rules of the APIs about groups and transactions. Mirrors the parts of KafkaApis that call AuthHelper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.apis.authorization.rule import changed, edited, group, in_places
from broker_sim.apis.produce_validation import has_idempotent_records, has_transactional_records, is_unreadable
from broker_sim.apis.sync_group import PROTOCOL_SINCE
from broker_sim.security.acl import AclOperation, ResourceType
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_set_order, string_hash
from protocol_specs.messages.delete_groups import DeletableGroupResult
from protocol_specs.messages.describe_groups import DescribedGroup

if TYPE_CHECKING:
    from broker_sim.apis.authorization.rule import Handle
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.security.access import Access
    from protocol_specs.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
    from protocol_specs.messages.delete_groups import DeleteGroupsRequest
    from protocol_specs.messages.describe_groups import DescribeGroupsRequest
    from protocol_specs.messages.init_producer_id import InitProducerIdRequest
    from protocol_specs.messages.list_groups import ListGroupsRequest
    from protocol_specs.messages.list_transactions import ListTransactionsRequest
    from protocol_specs.messages.produce import ProduceRequest
    from protocol_specs.messages.sync_group import SyncGroupRequest
    from protocol_specs.messages.write_txn_markers import WriteTxnMarkersRequest

NOT_REQUESTED: Final = -(2**31)
_READ_GROUP: Final = group(AclOperation.READ)
BATCHES_SINCE: Final = 4
"""From this version on brokers send AddPartitionsToTxn."""


def produce(request: ProduceRequest, context: RequestContext, access: Access, handle: Handle) -> HandlerResult:
    """Produce: WRITE on the transactional id of transactional records; the handler checks the topics.

    Before 2.8 other records with a producer id need IDEMPOTENT_WRITE on the cluster.
    """
    transactional_id = request.transactional_id
    deciding = _with_last_record_set(request) if context.behaviour.last_record_set_decides else request
    if has_transactional_records(deciding):
        if transactional_id is not None and not access.transactional_id(AclOperation.WRITE, transactional_id):
            return _refused(context, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    elif (
        context.behaviour.idempotent_producers_need_the_cluster
        and not access.cluster(AclOperation.IDEMPOTENT_WRITE)
        and has_idempotent_records(deciding)
        and not is_unreadable(request, context.api_version, context.behaviour)
    ):
        return _refused(context, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return handle(request, context)


def _with_last_record_set(request: ProduceRequest) -> ProduceRequest:
    partitions = [(topic, partition) for topic in request.topic_data for partition in topic.partition_data]
    last = [changed(topic, partition_data=[partition]) for topic, partition in partitions[-1:]]
    return changed(request, topic_data=last)  # type: ignore[no-any-return]


def init_producer_id(
    request: InitProducerIdRequest, context: RequestContext, access: Access, handle: Handle
) -> HandlerResult:
    """InitProducerId: WRITE on the transactional id; else IDEMPOTENT_WRITE on the cluster, or WRITE on any topic.

    Before 2.8 WRITE on any topic is not enough (KIP-679). Two-phase commits need an operation of their own (KIP-939).
    """
    transactional_id = request.transactional_id
    if transactional_id is not None:
        if not access.transactional_id(AclOperation.WRITE, transactional_id) or (
            request.enable2_pc and not access.transactional_id(AclOperation.TWO_PHASE_COMMIT, transactional_id)
        ):
            return _refused(context, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    elif not access.cluster(AclOperation.IDEMPOTENT_WRITE) and (
        context.behaviour.idempotent_producers_need_the_cluster
        or not access.allows_any(AclOperation.WRITE, ResourceType.TOPIC)
    ):
        return _refused(context, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return handle(request, context)


def add_partitions_to_txn(
    request: AddPartitionsToTxnRequest, context: RequestContext, access: Access, handle: Handle
) -> HandlerResult:
    """AddPartitionsToTxn: WRITE on a producer's transactional id; CLUSTER_ACTION for the requests of brokers."""
    if context.api_version >= BATCHES_SINCE:
        if not access.cluster(AclOperation.CLUSTER_ACTION):
            return _refused(context, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    elif not access.transactional_id(AclOperation.WRITE, request.v3_and_below_transactional_id):
        return _refused(context, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return handle(request, context)


def write_txn_markers(
    request: WriteTxnMarkersRequest, context: RequestContext, access: Access, handle: Handle
) -> HandlerResult:
    """WriteTxnMarkers: CLUSTER_ACTION on the cluster; from 3.8 on ALTER is enough (KAFKA-16513)."""
    may_alter = context.behaviour.markers_need_alter_alone and access.cluster(AclOperation.ALTER)
    if not may_alter and not access.cluster(AclOperation.CLUSTER_ACTION):
        return _refused(context, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return handle(request, context)


def sync_group(request: SyncGroupRequest, context: RequestContext, access: Access, handle: Handle) -> HandlerResult:
    """SyncGroup: READ on the group, unless the request lacks the protocol that it must name from v5 on."""
    incomplete = context.api_version >= PROTOCOL_SINCE and None in {request.protocol_type, request.protocol_name}
    return handle(request, context) if incomplete else _READ_GROUP(request, context, access, handle)


def describe_groups(
    request: DescribeGroupsRequest, context: RequestContext, access: Access, handle: Handle
) -> HandlerResult:
    """DescribeGroups: DESCRIBE on each group; refused groups come first, before 3.5 in their place."""
    refused = [each for each in request.groups if not access.group(AclOperation.DESCRIBE, each)]
    left = [each for each in request.groups if each not in refused]

    def show(response: Any) -> None:
        for described in response.groups:
            if described.authorized_operations != NOT_REQUESTED:
                described.authorized_operations = access.operations(
                    ResourceType.GROUP, described.group_id, mask=context.behaviour.group_operations
                )
        error = ErrorCode.GROUP_AUTHORIZATION_FAILED
        denied = [
            DescribedGroup(group_id=each, error_code=error) if each in refused else None for each in request.groups
        ]
        if context.behaviour.refused_groups_are_in_place:
            response.groups = in_places(denied, response.groups)
        else:
            response.groups = [*filter(None, denied), *response.groups]

    return edited(handle(changed(request, groups=left), context), show)


def list_groups(request: ListGroupsRequest, context: RequestContext, access: Access, handle: Handle) -> HandlerResult:
    """ListGroups: DESCRIBE on the cluster, or from 2.1 on each listed group."""
    described = access.cluster(AclOperation.DESCRIBE)
    if not described and context.behaviour.group_list_needs_the_cluster:
        return _refused(context, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    result = handle(request, context)
    if described:
        return result

    def leave_out(response: Any) -> None:
        response.groups = [each for each in response.groups if access.group(AclOperation.DESCRIBE, each.group_id)]

    return edited(result, leave_out)


def delete_groups(
    request: DeleteGroupsRequest, context: RequestContext, access: Access, handle: Handle
) -> HandlerResult:
    """DeleteGroups: DELETE on each group; refused groups are at the end, before 3.5 in the order of a hash table."""
    names = list(dict.fromkeys(request.groups_names))
    refused = [each for each in names if not access.group(AclOperation.DELETE, each)]
    left = changed(request, groups_names=[each for each in names if each not in refused])

    def add(response: Any) -> None:
        error = ErrorCode.GROUP_AUTHORIZATION_FAILED
        response.results += [DeletableGroupResult(group_id=each, error_code=error) for each in refused]
        if context.behaviour.refused_groups_are_in_place:
            order = hash_set_order(string_hash(result.group_id) for result in response.results)
            response.results = [response.results[place] for place in order]

    return edited(handle(left, context), add)


def list_transactions(
    request: ListTransactionsRequest, context: RequestContext, access: Access, handle: Handle
) -> HandlerResult:
    """ListTransactions: DESCRIBE on each listed transactional id."""

    def leave_out(response: Any) -> None:
        response.transaction_states = [
            each
            for each in response.transaction_states
            if access.transactional_id(AclOperation.DESCRIBE, each.transactional_id)
        ]

    return edited(handle(request, context), leave_out)


def _refused(context: RequestContext, error_code: ErrorCode) -> HandlerResult:
    return context.broker.apis.error_response(context, error_code)
