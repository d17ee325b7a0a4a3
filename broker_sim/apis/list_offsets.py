"""ListOffsets (api key 2): offsets by time, or the earliest and the latest. Mirrors ReplicaManager.fetchOffset.

Versions: 4.3 serves 1 to 11, 3.7 serves 0 to 8.
- v0: old-style offset lists, the segments' base offsets that are old enough. v2: isolation level. v4: leader epochs.
- v5: OFFSET_NOT_AVAILABLE where older versions get LEADER_NOT_AVAILABLE (KIP-207).
- Special timestamps: -1 latest, -2 earliest; -3 of the newest record (KIP-734), -4 earliest local (KIP-405), -5
  latest tiered (KIP-1005), -6 earliest not tiered (KIP-1023). 4.3 takes them from v7, v8, v9, v11 on and any other
  negative time is UNSUPPORTED_VERSION; 3.7 takes -3 and -4 in every version and the rest as a time.
- The same partition twice: INVALID_REQUEST, on 4.3 once, on 3.7 twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.partition_order import grouped_by_topic
from broker_sim.replication.requests import (
    CONSUMER_REPLICA_ID,
    DEBUGGING_REPLICA_ID,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    FetchIsolation,
)
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol_specs.records.message_peek import MAGIC_V0

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.replication.requests import OffsetResult
    from protocol_specs.message import Message
    from protocol_specs.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest

__all__ = ["error_response", "handle"]

EPOCHS_LOWEST: Final = 4
OFFSET_NOT_AVAILABLE_LOWEST: Final = 5
LOWEST_OF_SPECIAL_TIMESTAMP: Final = {-1: 0, -2: 0, -3: 7, -4: 8, -5: 9, -6: 11}
ISOLATIONS: Final = (FetchIsolation.HIGH_WATERMARK, FetchIsolation.TXN_COMMITTED)
TIERED_TIMESTAMPS: Final = (-5, -6)
"""Without tiered storage nothing is found for them."""
EARLIEST_LOCAL_TIMESTAMP: Final = -4
"""Without tiered storage the same as the earliest."""
BELOW_SPECIAL_TIMESTAMPS: Final = min(LOWEST_OF_SPECIAL_TIMESTAMP) - 1
_TIMELESS: Final = (LATEST_TIMESTAMP, EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP)
"""Offsets that are found without a record's timestamp, which messages of magic 0 do not have."""


def handle(request: ListOffsetsRequest, context: RequestContext) -> HandlerResult:
    """Return one result per partition."""
    behaviour = context.behaviour
    if context.api_version == 0:
        return _handle_old_style(request, context)
    if not _knows_isolation(request) and behaviour.list_offsets_isolation_always_checked:
        return error_response(request, context, ErrorCode.UNKNOWN_SERVER_ERROR)
    counts: dict[TopicPartition, int] = {}
    for topic in request.topics:
        for partition in topic.partitions:
            key = TopicPartition(topic.name, partition.partition_index)
            counts[key] = counts.get(key, 0) + 1
    topics = [
        ListOffsetsTopicResponse(
            name=topic.name,
            partitions=[
                _refused(partition.partition_index, ErrorCode.INVALID_REQUEST)
                if counts[TopicPartition(topic.name, partition.partition_index)] > 1
                else _offset_of(topic.name, partition, request, context)
                for partition in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    if behaviour.duplicate_list_offsets_served_once:
        topics = _merged(topics)
    return ListOffsetsResponse(topics=topics)


def error_response(request: ListOffsetsRequest, context: RequestContext, error_code: ErrorCode) -> Message:  # noqa: ARG001
    """One error for every partition. Mirrors ListOffsetsRequest.getErrorResponse."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[_refused(partition.partition_index, error_code) for partition in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _offset_of(
    topic: str, partition: ListOffsetsPartition, request: ListOffsetsRequest, context: RequestContext
) -> ListOffsetsPartitionResponse:
    index = partition.partition_index
    version = context.api_version
    timestamp = partition.timestamp
    if request.replica_id == CONSUMER_REPLICA_ID and not _knows_isolation(request):
        return _refused(index, ErrorCode.UNKNOWN_SERVER_ERROR)
    if context.behaviour.list_offsets_special_timestamps_gated:
        if timestamp < 0 and version < LOWEST_OF_SPECIAL_TIMESTAMP.get(timestamp, version + 1):
            return _refused(index, ErrorCode.UNSUPPORTED_VERSION)
    elif timestamp < context.behaviour.list_offsets_lowest_timestamp:
        # 3.x and older take unknown special timestamps as a time: even records without a timestamp are newer.
        timestamp = min(timestamp, BELOW_SPECIAL_TIMESTAMPS)
    result = _look_up(topic, partition, request, context, timestamp)
    error_code = result.error_code
    if not error_code and timestamp not in _TIMELESS and _magic_of(topic, index, context) == MAGIC_V0:
        return _refused(index, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)
    if error_code is ErrorCode.OFFSET_NOT_AVAILABLE and version < OFFSET_NOT_AVAILABLE_LOWEST:
        error_code = ErrorCode.LEADER_NOT_AVAILABLE
    if error_code:
        return _refused(index, error_code)
    if timestamp in TIERED_TIMESTAMPS:
        return ListOffsetsPartitionResponse(partition_index=index)
    return ListOffsetsPartitionResponse(
        partition_index=index,
        timestamp=result.timestamp,
        offset=result.offset,
        leader_epoch=result.leader_epoch if version >= EPOCHS_LOWEST else -1,
    )


def _magic_of(topic: str, index: int, context: RequestContext) -> int:
    """Return the format of the partition's stored records; the partition is on this broker."""
    return context.broker.replica_manager.partitions[TopicPartition(topic, index)].log.config.magic


def _knows_isolation(request: ListOffsetsRequest) -> bool:
    return 0 <= request.isolation_level < len(ISOLATIONS)


def _look_up(
    topic: str,
    partition: ListOffsetsPartition,
    request: ListOffsetsRequest,
    context: RequestContext,
    timestamp: int,
) -> OffsetResult:
    is_client = request.replica_id == CONSUMER_REPLICA_ID
    if timestamp == EARLIEST_LOCAL_TIMESTAMP:
        timestamp = EARLIEST_TIMESTAMP
    elif timestamp in TIERED_TIMESTAMPS:
        timestamp = LATEST_TIMESTAMP
    return context.broker.replica_manager.list_offset(
        TopicPartition(topic, partition.partition_index),
        timestamp=timestamp,
        isolation=ISOLATIONS[request.isolation_level] if is_client else None,
        current_leader_epoch=partition.current_leader_epoch,
        fetch_only_leader=request.replica_id != DEBUGGING_REPLICA_ID,
    )


def _merged(topics: list[ListOffsetsTopicResponse]) -> list[ListOffsetsTopicResponse]:
    """Return one entry per topic and partition, in the order of Kafka's map; a topic without partitions has none."""
    merged = {
        TopicPartition(topic.name, partition.partition_index): partition
        for topic in topics
        for partition in topic.partitions
    }
    return [
        ListOffsetsTopicResponse(name=name, partitions=[merged[key] for key in keys])
        for name, keys in grouped_by_topic(merged).items()
    ]


def _refused(index: int, error_code: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=index, error_code=error_code)


def _handle_old_style(request: ListOffsetsRequest, context: RequestContext) -> HandlerResult:
    """v0: at most max_num_offsets offsets, newest first. Mirrors Partition.legacyFetchOffsetsForTimestamp."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    _old_style_offsets(topic.name, partition, request, context) for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _old_style_offsets(
    topic: str, partition: ListOffsetsPartition, request: ListOffsetsRequest, context: RequestContext
) -> ListOffsetsPartitionResponse:
    index = partition.partition_index
    latest = _look_up(topic, partition, request, context, LATEST_TIMESTAMP)
    if latest.error_code:
        return _refused(index, latest.error_code)
    if partition.max_num_offsets < 0:
        return _refused(index, ErrorCode.UNKNOWN_SERVER_ERROR)
    log = context.broker.replica_manager.partitions[TopicPartition(topic, index)].log
    times = [segment.modified_ms for segment in log.segments]
    offsets = list(zip(log.segment_base_offsets, times, strict=True))
    if log.segments[-1].batches:
        offsets.append((latest.offset, context.broker.now_ms()))
    timestamp = partition.timestamp
    if timestamp == LATEST_TIMESTAMP:
        found = offsets
    elif timestamp == EARLIEST_TIMESTAMP or (
        timestamp == EARLIEST_LOCAL_TIMESTAMP and timestamp >= context.behaviour.list_offsets_lowest_timestamp
    ):
        found = offsets[:1]
    else:
        found = [entry for entry in offsets if entry[1] <= timestamp]
    newest_first = sorted((offset for offset, _ in found if offset <= latest.offset), reverse=True)
    return ListOffsetsPartitionResponse(
        partition_index=index, old_style_offsets=newest_first[: partition.max_num_offsets]
    )


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
