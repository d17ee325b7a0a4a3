"""OffsetForLeaderEpoch (api key 23): where a leader epoch ends. Mirrors ReplicaManager.lastOffsetForLeaderEpoch.

Versions: 4.3 serves 2 to 4, 3.7 serves 0 to 4.
- v1: the response names the epoch. v2: the client's view of the leader epoch fences (KIP-320). v3: replica id.
- The response lists topics and partitions as the request does, repetitions included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.replication.requests import NO_EPOCH
from broker_sim.topic_partition import TopicPartition
from protocol_specs.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.error_codes import ErrorCode
    from protocol_specs.message import Message
    from protocol_specs.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest, OffsetForLeaderPartition

__all__ = ["error_response", "handle"]

EPOCHS_SINCE: Final = 1
"""The first version whose response has an epoch; that of v0 is the offset alone (KIP-279)."""


def handle(request: OffsetForLeaderEpochRequest, context: RequestContext) -> HandlerResult:
    """Return one result per partition."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[_end_offset(topic.topic, partition, context) for partition in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def error_response(
    request: OffsetForLeaderEpochRequest,
    context: RequestContext,  # noqa: ARG001
    error_code: ErrorCode,
) -> Message:
    """One error for every partition."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    EpochEndOffset(partition=partition.partition, error_code=error_code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _end_offset(topic: str, partition: OffsetForLeaderPartition, context: RequestContext) -> EpochEndOffset:
    result = context.broker.replica_manager.last_offset_for_leader_epoch(
        TopicPartition(topic, partition.partition),
        current_leader_epoch=partition.current_leader_epoch,
        leader_epoch=partition.leader_epoch,
    )
    return EpochEndOffset(
        error_code=result.error_code,
        partition=partition.partition,
        leader_epoch=result.leader_epoch if context.api_version >= EPOCHS_SINCE else NO_EPOCH,
        end_offset=result.end_offset,
    )


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
