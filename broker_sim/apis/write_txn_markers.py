"""WriteTxnMarkers (api key 27): write the markers that end transactions into partitions (KIP-98).

The transaction coordinator sends it to the leaders; an administrator does, to end a hanging transaction (KIP-664). The
group coordinator writes those of `__consumer_offsets`, which make the offsets of a transaction count. Versions: v2 has
the version of the transactions protocol (KIP-1228).

Mirrors KafkaApis.handleWriteTxnMarkersRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.handler_result import when_all
from broker_sim.control.events import TransactionMarkerWritten
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.coordinator_choice import uses_old_coordinator
from broker_sim.metadata.topic_names import GROUP_METADATA_TOPIC_NAME
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import concurrent_order, hash_order, hash_order_of_longs, topic_partition_hash
from protocol_specs.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from protocol_specs.records.batch_peek import MAGIC_V2
from protocol_specs.records.control_records import (
    ControlRecordType,
    EndTransactionMarker,
    end_transaction_marker_batch,
)

if TYPE_CHECKING:
    from twisted.python.failure import Failure

    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.message import Message
    from protocol_specs.messages.write_txn_markers import WritableTxnMarker, WriteTxnMarkersRequest

_NOT_READY: Final = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)
"""The coordinator of transactions knows no such errors: they become NOT_LEADER_OR_FOLLOWER."""

Errors = dict[TopicPartition, ErrorCode]


def handle(request: WriteTxnMarkersRequest, context: RequestContext) -> Message | Deferred[Message]:
    """Append the markers; the response waits for all of them.

    A marker without a producer id or epoch fails the whole request: Kafka cannot make its batch. The new group
    coordinator makes one of its own per partition, which fails alone.
    """
    results = []
    for marker in request.markers:
        if _has_producer(marker):
            results.append(_write(marker, context))
        elif _reaches_logs(marker, context):
            return error_response(request, context, ErrorCode.UNKNOWN_SERVER_ERROR)
        else:
            results.append(_refused(marker, context))
    return when_all(results, lambda errors: _response(errors, request))


def _has_producer(marker: WritableTxnMarker) -> bool:
    return marker.producer_id >= 0 and marker.producer_epoch >= 0


def _reaches_logs(marker: WritableTxnMarker, context: RequestContext) -> bool:
    """Return True if the request itself appends the marker to a log, without a coordinator."""
    coordinated = () if uses_old_coordinator(context.broker.config) else (GROUP_METADATA_TOPIC_NAME,)
    hosted = context.broker.replica_manager.partitions
    return any(
        TopicPartition(topic.name, index) in hosted
        for topic in marker.topics
        if topic.name not in coordinated
        for index in topic.partition_indexes
    )


def _refused(marker: WritableTxnMarker, context: RequestContext) -> Errors:
    """Return the errors of a marker without a producer, which reaches coordinators at most."""
    broker = context.broker
    errors: Errors = {}
    for topic in marker.topics:
        for index in topic.partition_indexes:
            partition = TopicPartition(topic.name, index)
            if partition not in broker.replica_manager.partitions:
                errors[partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif broker.coordinators.groups.runtime.shard(index) is None:
                errors[partition] = ErrorCode.NOT_LEADER_OR_FOLLOWER
            else:
                errors[partition] = ErrorCode.UNKNOWN_SERVER_ERROR
    return errors


def _write(marker: WritableTxnMarker, context: RequestContext) -> Errors | Deferred[Errors]:
    broker = context.broker
    errors: Errors = {}
    data: dict[TopicPartition, bytes] = {}
    waiting: list[Deferred[None] | None] = []
    batch = _marker_batch(marker, context)
    for topic in marker.topics:
        for index in topic.partition_indexes:
            partition = TopicPartition(topic.name, index)
            hosted = broker.replica_manager.partitions.get(partition)
            if hosted is None:
                errors[partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif hosted.log.config.magic < MAGIC_V2:
                errors[partition] = ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
            elif topic.name == GROUP_METADATA_TOPIC_NAME:
                ended = broker.coordinators.groups.runtime.end_transaction(
                    index,
                    (marker.producer_id, marker.producer_epoch),
                    batch,
                    committed=marker.transaction_result,
                    transaction_version=marker.transaction_version,
                )
                noted = (partition, errors)
                waiting.append(ended.addCallbacks(_note, _note_failure, callbackArgs=noted, errbackArgs=noted))
            else:
                data[partition] = batch
    appended = broker.replica_manager.append_markers(
        broker.config.request_timeout_ms, data, transaction_version=marker.transaction_version
    )
    if isinstance(appended, Deferred):
        waiting.append(appended.addCallback(errors.update))
    else:
        errors.update(appended)
    return when_all(waiting, lambda _: _journaled(marker, errors, context))


def _marker_batch(marker: WritableTxnMarker, context: RequestContext) -> bytes:
    kind = ControlRecordType.COMMIT if marker.transaction_result else ControlRecordType.ABORT
    return end_transaction_marker_batch(
        EndTransactionMarker(control_type=kind, coordinator_epoch=marker.coordinator_epoch),
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        timestamp_ms=context.broker.now_ms(),
    )


def _note(_: object, partition: TopicPartition, errors: Errors) -> None:
    errors[partition] = ErrorCode.NONE


def _note_failure(failure: Failure, partition: TopicPartition, errors: Errors) -> None:
    failure.trap(CoordinatorError)
    assert isinstance(failure.value, CoordinatorError)
    error_code = failure.value.error_code
    errors[partition] = ErrorCode.NOT_LEADER_OR_FOLLOWER if error_code in _NOT_READY else error_code


def _journaled(marker: WritableTxnMarker, errors: Errors, context: RequestContext) -> Errors:
    journal = context.broker.journal
    if journal.full:
        for partition, error_code in errors.items():
            journal.append(
                TransactionMarkerWritten(
                    time_us=journal.now_us(),
                    broker_id=context.broker.id,
                    producer_id=marker.producer_id,
                    producer_epoch=marker.producer_epoch,
                    topic=partition.topic,
                    partition=partition.partition,
                    committed=marker.transaction_result,
                    coordinator_epoch=marker.coordinator_epoch,
                    error=error_code.name,
                    client_id=context.client_id or "",
                )
            )
    return errors


def _response(results: list[Errors], request: WriteTxnMarkersRequest) -> Message:
    """Return one element per producer id, also for several markers, in the orders of Kafka's hash tables."""
    by_producer: dict[int, Errors] = {}
    for marker, errors in zip(request.markers, results, strict=True):
        if errors:
            by_producer.setdefault(marker.producer_id, {}).update(errors)
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(producer_id=producer_id, topics=_topics(by_producer[producer_id]))
            for producer_id in hash_order_of_longs(by_producer)
        ]
    )


def _topics(errors: Errors) -> list[WritableTxnMarkerTopicResult]:
    topics: dict[str, WritableTxnMarkerTopicResult] = {}
    given = list(errors.items())
    for place in concurrent_order((topic_partition_hash(*partition) for partition in errors), count=len(errors)):
        (topic, index), error_code = given[place]
        found = topics.setdefault(topic, WritableTxnMarkerTopicResult(name=topic, partitions=[]))
        found.partitions.append(WritableTxnMarkerPartitionResult(partition_index=index, error_code=error_code))
    return [topics[topic] for topic in hash_order(topics)]


def error_response(
    request: WriteTxnMarkersRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> Message:
    """Every partition has the error. Mirrors WriteTxnMarkersRequest.getErrorResponse."""
    errors = [
        {TopicPartition(topic.name, index): error_code for topic in marker.topics for index in topic.partition_indexes}
        for marker in request.markers
    ]
    return _response(errors, request)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
