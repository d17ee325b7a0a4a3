"""What brokers ask each other over their links: Fetch, ListOffsets, OffsetForLeaderEpoch, as followers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.errors import BrokerSimError
from broker_sim.topic_partition import TopicPartition
from protocol_specs.messages.fetch import FetchRequest
from protocol_specs.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol_specs.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)

if TYPE_CHECKING:
    from broker_sim.replication.replica_manager import ReplicaManager


def answer_inter_broker(manager: ReplicaManager, request: Any, source: int) -> Any:
    """The answer to a follower, or a Deferred of it; another message is a mistake of ours."""
    if isinstance(request, FetchRequest):
        return manager.roles.replica_fetch(request, source)
    if isinstance(request, ListOffsetsRequest):
        return _list_offsets(manager, request)
    if isinstance(request, OffsetForLeaderEpochRequest):
        return _offset_for_leader_epoch(manager, request)
    msg = f"broker {manager.broker_id} has no answer for {type(request).__name__} from node {source}"
    raise BrokerSimError(msg)


def _list_offsets(manager: ReplicaManager, request: ListOffsetsRequest) -> ListOffsetsResponse:
    topics = []
    for topic in request.topics:
        partitions = []
        for asked in topic.partitions:
            found = manager.list_offset(
                TopicPartition(topic.name, asked.partition_index),
                timestamp=asked.timestamp,
                isolation=None,
                current_leader_epoch=asked.current_leader_epoch,
            )
            partitions.append(
                ListOffsetsPartitionResponse(
                    partition_index=asked.partition_index,
                    error_code=found.error_code,
                    timestamp=found.timestamp,
                    offset=found.offset,
                    leader_epoch=found.leader_epoch,
                )
            )
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
    return ListOffsetsResponse(topics=topics)


def _offset_for_leader_epoch(
    manager: ReplicaManager, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    topics = []
    for topic in request.topics:
        partitions = []
        for asked in topic.partitions:
            found = manager.last_offset_for_leader_epoch(
                TopicPartition(topic.topic, asked.partition),
                current_leader_epoch=asked.current_leader_epoch,
                leader_epoch=asked.leader_epoch,
            )
            partitions.append(
                EpochEndOffset(
                    partition=asked.partition,
                    error_code=found.error_code,
                    leader_epoch=found.leader_epoch,
                    end_offset=found.end_offset,
                )
            )
        topics.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=partitions))
    return OffsetForLeaderEpochResponse(topics=topics)
