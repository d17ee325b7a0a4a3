"""ReadShareGroupStateSummary (api key 87): the group coordinator reads a summary of the state of share partitions.

Mirrors ReadShareGroupStateSummaryRequest and ReadShareGroupStateSummaryResponse; KIP-932, KIP-1226.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, Int64, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class PartitionData(Struct):
    """A requested share partition, with the leader epoch of the reader."""

    partition: int = field(Int32)
    leader_epoch: int = field(Int32)


@struct
class ReadStateSummaryData(Struct):
    """The requested share partitions of one topic."""

    topic_id: bytes = field(Uuid)
    partitions: list[PartitionData] = field(Array(PartitionData))


@message(api_key=ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, versions="0-1", flexible="0+")
class ReadShareGroupStateSummaryRequest(Message):
    """The request: the group coordinator reads a summary of the state of share partitions."""

    group_id: str = field(String)
    topics: list[ReadStateSummaryData] = field(Array(ReadStateSummaryData))


@struct
class PartitionResult(Struct):
    """The start offset and epochs of one share partition, or an error."""

    partition: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    state_epoch: int = field(Int32)
    leader_epoch: int = field(Int32)
    start_offset: int = field(Int64)
    delivery_complete_count: int = field(Int32, versions="1+", default=-1, ignorable=True)


@struct
class ReadStateSummaryResult(Struct):
    """The results of one topic."""

    topic_id: bytes = field(Uuid)
    partitions: list[PartitionResult] = field(Array(PartitionResult))


@message(api_key=ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, versions="0-1", flexible="0+")
class ReadShareGroupStateSummaryResponse(Message):
    """The response: the start offset and epochs per share partition."""

    results: list[ReadStateSummaryResult] = field(Array(ReadStateSummaryResult))
