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
from broker_sim.apis.handler_result import NoResponse, when_all
from broker_sim.control.events import TransactionMarkerWritten
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.coordinator_choice import uses_old_coordinator
from broker_sim.coordinators.transactions.partition_sets import in_set_order
from broker_sim.metadata.topic_names import GROUP_METADATA_TOPIC_NAME
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import (
    ConcurrentKeys,
    concurrent_hash_order,
    hash_order,
    hash_order_by,
    long_hash,
    topic_partition_hash,
)
from protocol_specs.message import factory
from protocol_specs.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from protocol_specs.records.batch_peek import MAGIC_V2, NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from protocol_specs.records.control_records import (
    ControlRecordType,
    lone_marker_batch,
    marker_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from twisted.python.failure import Failure

    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.message import Message
    from protocol_specs.messages.write_txn_markers import WritableTxnMarker, WriteTxnMarkersRequest
    from protocol_specs.records.lone_batch import LoneBatch, RecordSet

_NOT_READY: Final = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)
"""The coordinator of transactions knows no such errors: they become NOT_LEADER_OR_FOLLOWER."""

_COMMIT: Final = ControlRecordType.COMMIT
"""A constant, because looking up a member of an enum is slow."""

Errors = dict[TopicPartition, ErrorCode]


class _Unwritten:
    """The markers of a request that are not written yet, and the errors so far, by producer id.

    The end of the last append sends the response. So none is ever sent if a marker that is not appended anywhere
    follows it, or if a marker names a partition twice.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.appends = 0
        self.errors: dict[int, list[Errors]] = {}
        """The errors of each producer id as they came: maps of partitions."""
        self.is_complete = False
        self._late: Deferred[Message | NoResponse] | None = None

    def note(self, producer_id: int, errors: Errors) -> None:
        """Add errors of a marker."""
        self.errors.setdefault(producer_id, []).append(errors)

    def await_end(self, written: Errors | Deferred[Errors], producer_id: int) -> None:
        """Note the end of a marker's append, now or when it comes."""
        if isinstance(written, dict):
            self.appended(written, producer_id)
        else:
            written.addCallback(self.appended, producer_id)

    def appended(self, errors: Errors, producer_id: int) -> None:
        """Note the end of a marker's append."""
        self.note(producer_id, errors)
        self.count -= 1
        self.appends -= 1
        self.is_complete |= not self.count
        if self._late is not None and not (self.count and self.appends):
            self._late.callback(self.result())

    def result(self) -> Message | NoResponse:
        """Return the response if the last append has ended."""
        return self.response() if self.is_complete else NoResponse.STAY_MUTED

    def response(self) -> Message:
        """Return the response: one element per producer id, also for several markers."""
        ids = concurrent_hash_order(self.errors, long_hash) if len(self.errors) > 1 else self.errors
        return WriteTxnMarkersResponse(markers=[_result(each, _topics(_in_order(self.errors[each]))) for each in ids])

    def late_result(self) -> Deferred[Message | NoResponse]:
        """Return the result that the end of an append gives."""
        self._late = Deferred()
        return self._late


def handle(
    request: WriteTxnMarkersRequest, context: RequestContext
) -> Message | NoResponse | Deferred[Message | NoResponse]:
    """Append the markers; the response waits for all of them.

    A marker without a producer id or epoch fails the whole request: Kafka cannot make its batch. The new group
    coordinator makes one of its own per partition, on another thread, which fails alone and ends after the other
    markers were read.
    """
    unwritten = _Unwritten(len(request.markers))
    coordinated: list[tuple[Errors | Deferred[Errors], int]] = []
    skipped = 0
    for marker in request.markers:
        good, errors = _partitions(marker, context)
        if errors:
            unwritten.note(marker.producer_id, _journaled(marker, errors, context))
        if not good:
            unwritten.count -= 1
            skipped += 1
            continue
        if not _has_producer(marker):
            if not all(_is_coordinated(partition, context) for partition in good):
                return error_response(request, context, ErrorCode.UNKNOWN_SERVER_ERROR)
            written: Errors | Deferred[Errors] = _refused(good, context)
        else:
            written = _write(marker, good, context)
        others = [partition for partition in good if not _is_coordinated(partition, context)]
        if len(others) > 1 and len(set(others)) < len(others):
            continue
        unwritten.appends += 1
        if not others:
            coordinated.append((written, marker.producer_id))
        else:
            unwritten.await_end(written, marker.producer_id)
    for written, producer_id in coordinated:
        unwritten.await_end(written, producer_id)
    if skipped == len(request.markers):
        return unwritten.response()
    return unwritten.late_result() if unwritten.appends else unwritten.result()


def _partitions(marker: WritableTxnMarker, context: RequestContext) -> tuple[list[TopicPartition], Errors]:
    """Return the partitions of this broker to which a marker is appended, and the errors of the others."""
    hosted = context.broker.replica_manager.partitions
    good: list[TopicPartition] = []
    errors: Errors = {}
    for topic in marker.topics:
        for index in topic.partition_indexes:
            partition = TopicPartition(topic.name, index)
            found = hosted.get(partition)
            if found is None:
                errors[partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif found.log.config.magic < MAGIC_V2:
                errors[partition] = ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
            else:
                good.append(partition)
    return good, errors


def _has_producer(marker: WritableTxnMarker) -> bool:
    return marker.producer_id != NO_PRODUCER_ID and marker.producer_epoch != NO_PRODUCER_EPOCH


def _is_coordinated(partition: TopicPartition, context: RequestContext) -> bool:
    """Return True if the new group coordinator makes the batch."""
    return partition.topic == GROUP_METADATA_TOPIC_NAME and not uses_old_coordinator(context.broker.config)


def _refused(partitions: list[TopicPartition], context: RequestContext) -> Errors:
    """Return the errors of a marker without a producer that reaches coordinators only."""
    runtime = context.broker.coordinators.groups.runtime
    return {
        each: ErrorCode.UNKNOWN_SERVER_ERROR
        if runtime.shard(each.partition) is not None
        else ErrorCode.NOT_LEADER_OR_FOLLOWER
        for each in partitions
    }


def _write(
    marker: WritableTxnMarker, partitions: list[TopicPartition], context: RequestContext
) -> Errors | Deferred[Errors]:
    broker = context.broker
    errors: Errors = {}
    data: dict[TopicPartition, RecordSet] = {}
    waiting: list[Deferred[None] | None] = []
    batch = _marker_batch(marker, context)
    for partition in partitions:
        if partition.topic == GROUP_METADATA_TOPIC_NAME:
            ended = broker.coordinators.groups.runtime.end_transaction(
                partition.partition,
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
    if isinstance(appended, dict):
        _note_results(appended, errors)
    else:
        waiting.append(appended.addCallback(_note_results, errors))
    return when_all(waiting, lambda _: _journaled(marker, errors, context))


def _marker_batch(marker: WritableTxnMarker, context: RequestContext) -> LoneBatch:
    kind = _COMMIT if marker.transaction_result else ControlRecordType.ABORT
    return lone_marker_batch(
        marker_of(kind, marker.coordinator_epoch),
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        timestamp_ms=context.broker.now_ms(),
    )


def _note_results(results: Errors, errors: Errors) -> None:
    """Add the results of an append in the order of the map that Kafka has them in."""
    for partition in in_set_order(results, java=False):
        errors[partition] = results[partition]


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


_result: Final = factory(WritableTxnMarkerResult, "producer_id", "topics")
_topic_result: Final = factory(WritableTxnMarkerTopicResult, "name", "partitions")
_partition_result: Final = factory(WritableTxnMarkerPartitionResult, "partition_index", "error_code")


def _in_order(notes: list[Errors]) -> Iterable[tuple[TopicPartition, ErrorCode]]:
    """Return the errors of a producer id in the order of Kafka's map: that of the first, which gets the others."""
    errors, *others = notes
    if not others and len(errors) == 1:
        return errors.items()
    order = ConcurrentKeys(_hash)
    for partition in errors:
        order.put(partition)
    for more in others:
        order.put_all(concurrent_hash_order(more, _hash))
        errors = errors | more
    return [(partition, errors[partition]) for partition in order]


def _topics(errors: Iterable[tuple[TopicPartition, ErrorCode]]) -> list[WritableTxnMarkerTopicResult]:
    topics: dict[str, WritableTxnMarkerTopicResult] = {}
    for (topic, index), error_code in errors:
        found = topics.get(topic)
        if found is None:
            found = topics[topic] = _topic_result(topic, [])
        found.partitions.append(_partition_result(index, error_code))
    return [topics[topic] for topic in hash_order(topics)] if len(topics) > 1 else list(topics.values())


def _hash(partition: TopicPartition) -> int:
    return topic_partition_hash(*partition)


def error_response(
    request: WriteTxnMarkersRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> Message:
    """Every partition of a producer's last marker has the error. Mirrors WriteTxnMarkersRequest.getErrorResponse."""
    partitions = {
        marker.producer_id: dict.fromkeys(
            TopicPartition(topic.name, index) for topic in marker.topics for index in topic.partition_indexes
        )
        for marker in request.markers
    }
    return WriteTxnMarkersResponse(
        markers=[
            _result(producer_id, _topics((each, error_code) for each in hash_order_by(partitions[producer_id], _hash)))
            for producer_id in hash_order_by(partitions, long_hash, capacity=len(request.markers))
        ]
    )


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
