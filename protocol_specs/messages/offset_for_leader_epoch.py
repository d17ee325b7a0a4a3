"""OffsetForLeaderEpoch (api key 23): where a leader epoch ends in a log.

Mirrors OffsetsForLeaderEpochRequest and OffsetsForLeaderEpochResponse; KIP-101, KIP-320.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, Int64, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class OffsetForLeaderPartition(Struct):
    """One element of partitions."""

    partition: int = field(Int32)
    current_leader_epoch: int = field(Int32, versions="2+", default=-1, ignorable=True)
    leader_epoch: int = field(Int32)


@struct
class OffsetForLeaderTopic(Struct):
    """One element of topics."""

    topic: str = field(String, map_key=True, entity="topicName")
    partitions: list[OffsetForLeaderPartition] = field(Array(OffsetForLeaderPartition))


@message(api_key=ApiKey.OFFSET_FOR_LEADER_EPOCH, versions="0-4", flexible="4+")
class OffsetForLeaderEpochRequest(Message):
    """What a client asks: where a leader epoch ends in a log."""

    replica_id: int = field(Int32, versions="3+", default=-2, ignorable=True, entity="brokerId")
    topics: list[OffsetForLeaderTopic] = field(Array(OffsetForLeaderTopic))


@struct
class EpochEndOffset(Struct):
    """One element of partitions."""

    error_code: int = field(Int16)
    partition: int = field(Int32)
    leader_epoch: int = field(Int32, versions="1+", default=-1, ignorable=True)
    end_offset: int = field(Int64, default=-1)


@struct
class OffsetForLeaderTopicResult(Struct):
    """One element of topics."""

    topic: str = field(String, map_key=True, entity="topicName")
    partitions: list[EpochEndOffset] = field(Array(EpochEndOffset))


@message(api_key=ApiKey.OFFSET_FOR_LEADER_EPOCH, versions="0-4", flexible="4+")
class OffsetForLeaderEpochResponse(Message):
    """What the broker answers to OffsetForLeaderEpochRequest."""

    throttle_time_ms: int = field(Int32, versions="2+", ignorable=True)
    topics: list[OffsetForLeaderTopicResult] = field(Array(OffsetForLeaderTopicResult))
