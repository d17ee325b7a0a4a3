"""OffsetForLeaderEpoch (api key 23): find the end offset of a leader epoch in a log.

Mirrors OffsetsForLeaderEpochRequest and OffsetsForLeaderEpochResponse; KIP-101, KIP-320.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, Int64, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class OffsetForLeaderPartition(Struct):
    """The requested leader epoch of one partition."""

    partition: int = field(Int32)
    current_leader_epoch: int = field(Int32, versions="2+", default=-1, ignorable=True)
    leader_epoch: int = field(Int32)


@struct
class OffsetForLeaderTopic(Struct):
    """The requested partitions of one topic."""

    topic: str = field(String, map_key=True, entity="topicName")
    partitions: list[OffsetForLeaderPartition] = field(Array(OffsetForLeaderPartition))


@message(api_key=ApiKey.OFFSET_FOR_LEADER_EPOCH, versions="0-4", flexible="4+")
class OffsetForLeaderEpochRequest(Message):
    """The request: find the end offset of a leader epoch in a log."""

    replica_id: int = field(Int32, versions="3+", default=-2, ignorable=True, entity="brokerId")
    topics: list[OffsetForLeaderTopic] = field(Array(OffsetForLeaderTopic))


@struct
class EpochEndOffset(Struct):
    """The largest epoch up to the requested one and its end offset, or an error."""

    error_code: int = field(Int16)
    partition: int = field(Int32)
    leader_epoch: int = field(Int32, versions="1+", default=-1, ignorable=True)
    end_offset: int = field(Int64, default=-1)


@struct
class OffsetForLeaderTopicResult(Struct):
    """The results of one topic."""

    topic: str = field(String, map_key=True, entity="topicName")
    partitions: list[EpochEndOffset] = field(Array(EpochEndOffset))


@message(api_key=ApiKey.OFFSET_FOR_LEADER_EPOCH, versions="0-4", flexible="4+")
class OffsetForLeaderEpochResponse(Message):
    """The response: the end offset of the epoch per partition."""

    throttle_time_ms: int = field(Int32, versions="2+", ignorable=True)
    topics: list[OffsetForLeaderTopicResult] = field(Array(OffsetForLeaderTopicResult))
