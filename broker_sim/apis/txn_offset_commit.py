"""TxnOffsetCommit (api key 28): commit the offsets of a group within a transaction (KIP-98).

Versions: v2 leader epochs, v3 member ids and generations (KIP-447), v4 TRANSACTION_ABORTABLE (KIP-1050); v5 adds the
partition of `__consumer_offsets` to the transaction, which takes the place of AddOffsetsToTxn (KIP-890).
Precedence: unknown topics and partitions (3), an empty group id (24), the leader of the group's partition (15, 16), the
verification of the transaction (KIP-890), the coordinator's state (14, 16), the group's checks, the length of the
metadata (12). Mirrors KafkaApis.handleTxnOffsetCommitRequest and GroupCoordinatorService.commitTransactionalOffsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.offset_results import (
    KnownPartitions,
    by_topic,
    errors_of,
    failed_commits,
    in_map_order,
    refused_commits,
)
from broker_sim.apis.transaction_verification import Support, Verified, verified
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.coordinator_choice import is_first_preview, uses_old_coordinator
from broker_sim.coordinators.groups.offsets.committed_offset import OffsetCommit
from broker_sim.coordinators.transactions.producers import ProducerIdAndEpoch
from broker_sim.metadata.topic_names import GROUP_METADATA_TOPIC_NAME
from broker_sim.security.acl import AclOperation, ResourceType
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.txn_offset_commit import (
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from protocol_specs.records.batch_peek import NO_SEQUENCE
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.offset_results import Named, PartitionErrors
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.groups.group_shard import GroupShard
    from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
    from protocol_specs.message import Message
    from protocol_specs.messages.txn_offset_commit import TxnOffsetCommitRequest

LOADING_SINCE: Final = 2
"""Producers before this version crash on COORDINATOR_LOAD_IN_PROGRESS (KAFKA-7296)."""
ABORTABLE_SINCE: Final = 4
ADDS_PARTITION_SINCE: Final = 5
_RETRIABLE: Final = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)

Commits = list[tuple["Named", TxnOffsetCommitRequestPartition]]


def handle(request: TxnOffsetCommitRequest, context: RequestContext) -> HandlerResult:
    """Refuse unknown partitions, and commit the offsets of the others."""
    image = context.broker.metadata_cache.image
    known: KnownPartitions[TxnOffsetCommitRequestPartition] = KnownPartitions()
    for topic in request.topics:
        by_name = image.topics.get(topic.name)
        topic_id = ZERO_UUID if by_name is None else by_name.topic_id
        if context.may(AclOperation.READ, ResourceType.TOPIC, topic.name):
            known.add_topic((topic.name, topic_id), topic.partitions, _index, image)
        else:
            denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            known.refuse_topic((topic.name, topic_id), map(_index, topic.partitions), denied)
    commits = known.flat()
    if not commits:
        return _response(known.errors, context)
    in_maps = uses_old_coordinator(context.broker.config)
    if in_maps:
        commits = in_map_order(commits, _index)

    def respond(errors: list[ErrorCode]) -> Message:
        results = by_topic(commits, errors, _index) if in_maps else known.results(errors, _index)
        return _response(known.merged(results), context)

    if not request.group_id:
        return respond([ErrorCode.INVALID_GROUP_ID] * len(commits))
    config = context.broker.config
    groups = context.broker.coordinators.groups
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)

    def refuse(error: CoordinatorError) -> Message:
        return respond(refused_commits(error, len(commits), context))

    def commit(guard: object | None) -> Message | Deferred[Message]:
        written = groups.write(
            request.group_id,
            "txn-commit-offset",
            lambda shard: _commit(shard, request, commits, context),
            producer=producer,
            guard=guard,
        )
        result: Message | Deferred[Message] = written.then(
            respond, lambda error: respond(failed_commits(error, written, len(commits), context))
        )
        return result

    if is_first_preview(config):
        return commit(None)  # it does not verify: the log refuses what is not in a transaction
    try:
        if in_maps:
            # The group stays when the verification fails.
            groups.read(request.group_id, lambda shard, _: shard.classic.existing_or_created(request.group_id))
        partition = TopicPartition(GROUP_METADATA_TOPIC_NAME, groups.partition_for(request.group_id))
    except CoordinatorError as error:
        return refuse(error)
    found = verified(context, request.transactional_id, producer, {partition: NO_SEQUENCE}, _support(context))

    def commit_verified(found: Verified) -> Message | Deferred[Message]:
        error = found.errors.get(partition)
        if error is None:
            return commit(found.guards.get(partition))
        if error in _RETRIABLE and config.behaviour.group_verifications_lack_replicas:
            error = ErrorCode.NOT_ENOUGH_REPLICAS
        return refuse(CoordinatorError(error))

    if isinstance(found, Deferred):
        late: Deferred[Message] = found.addCallback(commit_verified)
        return late
    return commit_verified(found)


def _support(context: RequestContext) -> Support:
    if context.api_version >= ADDS_PARTITION_SINCE:
        return Support.ADDS_PARTITIONS
    return Support.ABORTABLE if context.api_version >= ABORTABLE_SINCE else Support.DEFAULT


def _commit(
    shard: GroupShard, request: TxnOffsetCommitRequest, commits: Commits, context: RequestContext
) -> CoordinatorResult[list[ErrorCode]]:
    return shard.offsets.commit_transactional(
        producer_id=request.producer_id,
        group_id=request.group_id,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        generation_id=request.generation_id,
        commits=[
            OffsetCommit(
                topic=name,
                topic_id=ZERO_UUID,  # records of transactions have no topic ids
                partition=partition.partition_index,
                offset=partition.committed_offset,
                leader_epoch=partition.committed_leader_epoch,
                metadata=partition.committed_metadata,
            )
            for (name, _), partition in commits
        ],
        api_version=context.api_version,
    )


def _index(partition: TxnOffsetCommitRequestPartition) -> int:
    return partition.partition_index


def error_response(
    request: TxnOffsetCommitRequest, context: RequestContext, error_code: ErrorCode
) -> TxnOffsetCommitResponse:
    """The whole request fails: every partition has the error. Mirrors TxnOffsetCommitRequest.getErrorResponse."""
    topics = [((topic.name, ZERO_UUID), topic.partitions) for topic in request.topics]
    return _response(errors_of(topics, _index, error_code), context)


def _response(errors: PartitionErrors, context: RequestContext) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=index, error_code=_for_old_producers(error_code, context)
                    )
                    for index, error_code in partitions
                ],
            )
            for (name, _), partitions in errors
        ]
    )


def _for_old_producers(error_code: ErrorCode, context: RequestContext) -> ErrorCode:
    if context.api_version < LOADING_SINCE and error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return error_code


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
