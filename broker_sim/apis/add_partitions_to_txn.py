"""AddPartitionsToTxn (api key 24): add partitions to transactions, or verify that they are in them (KIP-98, KIP-890).

Versions: up to v3 a producer adds partitions of one transaction. v2 has PRODUCER_FENCED, where lower versions have
INVALID_PRODUCER_EPOCH. From v4 on brokers send it, for several transactions at once, to verify what producers write; a
request without any gets no response. v5 has TRANSACTION_ABORTABLE.

A partition that may not be added fails all others with OPERATION_NOT_ATTEMPTED: one that does not exist (3), one of an
internal topic for a producer (29). One result for all partitions repeats the partitions of the request. Mirrors
KafkaApis.handleAddPartitionsToTxnRequest.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.auto_topic_creation import is_internal
from broker_sim.apis.handler_result import NoResponse, when_all
from broker_sim.apis.repeated_response import FRAMES_MAX, frame_tail, frame_with_tail
from broker_sim.apis.transaction_requests import NewFencedError, note_refusal, responded
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.transactions.partition_sets import in_set_order
from broker_sim.coordinators.transactions.producers import ProducerIdAndEpoch
from broker_sim.coordinators.transactions.transaction_metadata import TRANSACTIONS_V2
from broker_sim.security.acl import AclOperation, ResourceType
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order
from protocol_specs.message import factory
from protocol_specs.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    ResponseAddPartitionsToTxnPartitionResult,
    ResponseAddPartitionsToTxnTopicResult,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from twisted.internet.defer import Deferred

    from broker_sim.apis.handler_result import HandlerResult, PreparedResponse, Response
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.apis.transaction_requests import Named
    from protocol_specs.message import Message
    from protocol_specs.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTransaction

BATCHES_SINCE: Final = 4
_FENCED: Final = NewFencedError(since=2)
# Constants, because looking up a member of an enum is slow.
_NONE: Final = ErrorCode.NONE
_UNSUPPORTED_VERSION: Final = ErrorCode.UNSUPPORTED_VERSION

Results = list[tuple[str, list[tuple[int, ErrorCode]]]]
"""Topics with their partitions and errors."""


def handle(request: AddPartitionsToTxnRequest, context: RequestContext) -> HandlerResult:
    """Add or verify the partitions of each transaction; the response waits for all."""
    if context.api_version < BATCHES_SINCE:
        producer = ProducerIdAndEpoch(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
        named = request.v3_and_below_transactional_id, producer
        topics = request.v3_and_below_topics
        partitions = _partitions(topics)
        refusal = _refusal(named, partitions, topics, context)
        if refusal is not None:
            return single_response(refusal)
        added: Response | NoResponse | Deferred[Response | NoResponse] = responded(
            context.broker.coordinators.transactions.add_partitions(*named, partitions, client_version=0),
            named,
            context,
            lambda _: _success(topics, context),
            lambda error_code: single_response(_alike(topics, _FENCED.of(error_code, context))),
        )
        return added
    if not request.transactions:
        return NoResponse.STAY_MUTED  # the response follows the last of them
    if len(request.transactions) == 1:
        [only] = request.transactions
        found = [_results_of(only, only.topics, only.topics, context)]
    else:
        # A repeated id has the partitions of its last entry, while its uniform results have those of its first.
        first = {each.transactional_id: each.topics for each in reversed(request.transactions)}
        last = {each.transactional_id: each.topics for each in request.transactions}
        found = [
            _results_of(each, last[each.transactional_id], first[each.transactional_id], context)
            for each in request.transactions
        ]
    response: Message | Deferred[Message] = when_all(found, lambda results: _batched(results, request))
    return response


def _results_of(
    transaction: AddPartitionsToTxnTransaction, topics: Sequence[Any], shown: Sequence[Any], context: RequestContext
) -> Results | Deferred[Results]:
    named = transaction.transactional_id, ProducerIdAndEpoch(transaction.producer_id, transaction.producer_epoch)
    if transaction.verify_only:
        return _verify(named, topics, context)
    return _add(named, topics, shown, context)


def _add(
    named: Named, topics: Sequence[Any], shown: Sequence[Any], context: RequestContext
) -> Results | Deferred[Results]:
    """Add partitions for a broker; a result that all have alike is that of `shown`."""
    partitions = _partitions(topics)
    refusal = _refusal(named, partitions, shown, context)
    if refusal is not None:
        return refusal
    client_version = TRANSACTIONS_V2 if context.behaviour.transactions_have_client_versions else 0
    return responded(
        context.broker.coordinators.transactions.add_partitions(*named, partitions, client_version),
        named,
        context,
        lambda _: _alike(shown, ErrorCode.NONE),
        lambda error_code: _alike(shown, _FENCED.of(error_code, context)),
    )


def _verify(named: Named, topics: Sequence[Any], context: RequestContext) -> Results:
    partitions = _partitions(topics)
    refused = _refused(partitions, context)
    if refused:
        return _by_topic(refused)
    transactional_id, producer = named
    if not transactional_id:
        return _by_topic(dict.fromkeys(partitions, ErrorCode.INVALID_REQUEST))
    broker = context.broker
    try:
        found = broker.coordinators.transactions.verify_partitions(transactional_id, producer, partitions)
    except CoordinatorError as error:
        note_refusal(named, context, error.error_code)
        return _by_topic(dict.fromkeys(partitions, error.error_code))
    if all(found):
        return _by_topic(dict.fromkeys(partitions, _NONE))
    abortable = broker.config.behaviour.unverified_transactions_are_abortable
    missing = ErrorCode.TRANSACTION_ABORTABLE if abortable else ErrorCode.INVALID_TXN_STATE
    errors: dict[TopicPartition, ErrorCode] = {}
    for partition, is_there in zip(partitions, found, strict=True):
        errors[partition] = _NONE if is_there else missing
    return _by_topic(errors)


def _partitions(topics: Sequence[Any]) -> list[TopicPartition]:
    named = [TopicPartition(topic.name, index) for topic in topics for index in topic.partitions]
    return list(dict.fromkeys(named)) if len(named) > 1 else named


def _refusal(
    named: Named, partitions: Sequence[TopicPartition], shown: Sequence[Any], context: RequestContext
) -> Results | None:
    """Return the results of a request that is not for the coordinator; one that all have alike is that of `shown`."""
    refused = _refused(partitions, context)
    if refused:
        return _by_topic(refused)
    return None if named[0] else _alike(shown, ErrorCode.INVALID_REQUEST)


def _refused(partitions: Sequence[TopicPartition], context: RequestContext) -> dict[TopicPartition, ErrorCode]:
    """Return the errors of all partitions if one may not be added."""
    image = context.broker.metadata_cache.image
    errors: dict[TopicPartition, ErrorCode] = {}
    for partition in partitions:
        if context.api_version < BATCHES_SINCE and not _may_add(partition.topic, context):
            errors[partition] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        elif image.partition(*partition) is None:
            errors[partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not errors:
        return errors
    return errors | {each: ErrorCode.OPERATION_NOT_ATTEMPTED for each in partitions if each not in errors}


def _may_add(topic: str, context: RequestContext) -> bool:
    """Return True if a producer may add partitions of a topic."""
    return not is_internal(topic, context.broker.config) and context.may(AclOperation.WRITE, ResourceType.TOPIC, topic)


def _alike(topics: Sequence[Any], error_code: ErrorCode) -> Results:
    return [(topic.name, [(index, error_code) for index in topic.partitions]) for topic in topics]


def _by_topic(errors: Mapping[TopicPartition, ErrorCode]) -> Results:
    if len(errors) == 1:
        [((topic, index), error_code)] = errors.items()
        return [(topic, [(index, error_code)])]
    topics: dict[str, list[tuple[int, ErrorCode]]] = {}
    for partition in in_set_order(errors, java=False):
        topics.setdefault(partition.topic, []).append((partition.partition, errors[partition]))
    return [(topic, topics[topic]) for topic in hash_order(topics)]


def _success(topics: Sequence[Any], context: RequestContext) -> Response:
    """Return the response to a request of a producer whose partitions are added; the frame of one is encoded once."""
    if len(topics) == 1 and len(topics[0].partitions) == 1 and context.transport.takes_frames:
        [topic] = topics
        return success_frame(context.correlation_id, context.api_version, topic.name, topic.partitions[0])
    return single_response(_alike(topics, ErrorCode.NONE))


def success_frame(correlation_id: int, version: int, topic: str, partition: int) -> PreparedResponse:
    """Return the frame of the response to a producer whose only partition is added, before version 4."""
    return frame_with_tail(correlation_id, _success_tail(version, topic, partition))


@lru_cache(maxsize=FRAMES_MAX)
def _success_tail(version: int, topic: str, partition: int) -> bytes:
    return frame_tail(single_response([(topic, [(partition, ErrorCode.NONE)])]), version)


def single_response(results: Results) -> Message:
    """Return the response to a producer, before version 4."""
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[
            ResponseAddPartitionsToTxnTopicResult(
                name=topic,
                results_by_partition=[
                    ResponseAddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=error_code)
                    for index, error_code in errors
                ],
            )
            for topic, errors in results
        ]
    )


_transaction_result: Final = factory(AddPartitionsToTxnResult, "transactional_id", "topic_results")
_topic_result: Final = factory(AddPartitionsToTxnTopicResult, "name", "results_by_partition")
_batched_response: Final = factory(AddPartitionsToTxnResponse, "results_by_transaction")
_partition_result: Final = factory(AddPartitionsToTxnPartitionResult, "partition_index", "partition_error_code")


def _batched(found: Sequence[Results], request: AddPartitionsToTxnRequest) -> Message:
    transactions = []
    for transaction, results in zip(request.transactions, found, strict=True):
        topics = []
        for topic, errors in results:
            partitions = []
            for index, error_code in errors:
                if error_code is _UNSUPPORTED_VERSION:
                    # Kafka leaves the request with this exception, also where one transaction of several has it.
                    return AddPartitionsToTxnResponse(error_code=error_code)
                partitions.append(_partition_result(index, error_code))
            topics.append(_topic_result(topic, partitions))
        transactions.append(_transaction_result(transaction.transactional_id, topics))
    return _batched_response(transactions)


def error_response(request: AddPartitionsToTxnRequest, context: RequestContext, error_code: ErrorCode) -> Message:
    """The whole request fails: up to v3 every partition has the error."""
    if context.api_version < BATCHES_SINCE:
        return single_response(_alike(request.v3_and_below_topics, error_code))
    return AddPartitionsToTxnResponse(error_code=error_code)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
