"""TxnOffsetCommit (api key 28): commit the offsets of a group within a transaction (KIP-98).

Versions: v2 leader epochs, v3 member ids and generations (KIP-447), v4 and v5 the transaction protocol of KIP-890. The
transaction coordinator verifies the transaction first (KIP-890, `transaction.partition.verification.enable`); it is not
simulated yet and knows no transaction. Precedence: unknown topics and partitions (3), an empty group id (24), since 4.0
no offsets topic (15: the verification finds no partition), the coordinator's state (14, 16), the transaction (15 while
no transaction topic exists, else 49), the group's checks, the length of the metadata (12).
Mirrors KafkaApis.handleTxnOffsetCommitRequest and
GroupCoordinatorService.commitTransactionalOffsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.offset_results import KnownPartitions, by_topic, errors_of, in_map_order, refused_commits
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.coordinator_choice import is_first_preview, uses_old_coordinator
from broker_sim.coordinators.groups.offsets.committed_offset import OffsetCommit
from broker_sim.metadata.topic_names import GROUP_METADATA_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.txn_offset_commit import (
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
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
ADDS_PARTITION_SINCE: Final = 5
"""The coordinator adds the partition to the transaction, which takes the place of AddOffsetsToTxn (KIP-890)."""
VERIFICATION: Final = "transaction.partition.verification.enable"

Commits = list[tuple["Named", TxnOffsetCommitRequestPartition]]


def handle(request: TxnOffsetCommitRequest, context: RequestContext) -> HandlerResult:
    """Refuse unknown partitions, and commit the offsets of the others."""
    image = context.broker.metadata_cache.image
    known: KnownPartitions[TxnOffsetCommitRequestPartition] = KnownPartitions()
    for topic in request.topics:
        by_name = image.topics.get(topic.name)
        topic_id = ZERO_UUID if by_name is None else by_name.topic_id
        known.add_topic((topic.name, topic_id), topic.partitions, _index, image)
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
    verifies_first = _verifies(context) and not (in_maps or is_first_preview(context.broker.config))
    if verifies_first and GROUP_METADATA_TOPIC_NAME not in image.topics:
        return respond([ErrorCode.COORDINATOR_NOT_AVAILABLE] * len(commits))
    written = context.broker.coordinators.groups.write(
        request.group_id,
        "txn-commit-offset",
        lambda shard: _commit(shard, request, commits, context),
        producer=(request.producer_id, request.producer_epoch),
    )
    result: HandlerResult = written.then(respond, lambda error: respond(refused_commits(error, len(commits), context)))
    return result


def _commit(
    shard: GroupShard, request: TxnOffsetCommitRequest, commits: Commits, context: RequestContext
) -> CoordinatorResult[list[ErrorCode]]:
    if uses_old_coordinator(context.broker.config):
        shard.classic.existing_or_created(request.group_id)  # it stays when the verification fails
    is_verified = shard.offsets.has_open_transaction(request.producer_id) or not _verifies(context)
    appends_unverified = is_first_preview(context.broker.config)
    if not (is_verified or appends_unverified):
        _verify(request, context)
    is_new = shard.groups.get(request.group_id) is None
    result = shard.offsets.commit_transactional(
        group_id=request.group_id,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        generation_id=request.generation_id,
        commits=[
            OffsetCommit(
                topic=name,
                topic_id=topic_id,
                partition=partition.partition_index,
                offset=partition.committed_offset,
                leader_epoch=partition.committed_leader_epoch,
                metadata=partition.committed_metadata,
            )
            for (name, topic_id), partition in commits
        ],
        api_version=context.api_version,
    )
    if appends_unverified and not is_verified and result.records:
        if is_new:
            shard.groups.remove(request.group_id)
        raise CoordinatorError(ErrorCode.INVALID_TXN_STATE)  # the log refuses the batch
    return result


def _verify(request: TxnOffsetCommitRequest, context: RequestContext) -> None:
    """Raise unless the producer has a transaction. Mirrors AddPartitionsToTxnManager."""
    if TRANSACTION_STATE_TOPIC_NAME not in context.broker.metadata_cache.image.topics:
        raise CoordinatorError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if not request.transactional_id:
        raise CoordinatorError(ErrorCode.INVALID_REQUEST)
    raise CoordinatorError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)


def _verifies(context: RequestContext) -> bool:
    config = context.broker.config
    if context.api_version >= ADDS_PARTITION_SINCE:
        return True
    return bool(config.behaviour.transactions_are_verified and config[VERIFICATION])


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
