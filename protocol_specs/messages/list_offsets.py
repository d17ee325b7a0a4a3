"""ListOffsets (api key 2): find offsets by timestamp, or the earliest and the latest.

Mirrors ListOffsetsRequest and ListOffsetsResponse; KIP-79, KIP-207, KIP-405, KIP-734, KIP-1005.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int8, Int16, Int32, Int64, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class ListOffsetsPartition(Struct):
    """The timestamp to find in one partition, or a special one: -1 latest, -2 earliest."""

    partition_index: int = field(Int32)
    current_leader_epoch: int = field(Int32, versions="4+", default=-1, ignorable=True)
    timestamp: int = field(Int64)
    max_num_offsets: int = field(Int32, versions="0", default=1)


@struct
class ListOffsetsTopic(Struct):
    """The requested partitions of one topic."""

    name: str = field(String, entity="topicName")
    partitions: list[ListOffsetsPartition] = field(Array(ListOffsetsPartition))


@message(api_key=ApiKey.LIST_OFFSETS, versions="0-11", flexible="6+")
class ListOffsetsRequest(Message):
    """The request: find offsets by timestamp, or the earliest and the latest."""

    replica_id: int = field(Int32, entity="brokerId")
    isolation_level: int = field(Int8, versions="2+")
    topics: list[ListOffsetsTopic] = field(Array(ListOffsetsTopic))
    timeout_ms: int = field(Int32, versions="10+", ignorable=True)


@struct
class ListOffsetsPartitionResponse(Struct):
    """The offset and timestamp that were found in one partition, or an error."""

    partition_index: int = field(Int32)
    error_code: int = field(Int16)
    timestamp: int = field(Int64, versions="1+", default=-1)
    offset: int = field(Int64, versions="1+", default=-1)
    leader_epoch: int = field(Int32, versions="4+", default=-1)
    old_style_offsets: list[int] = field(Array(Int64), versions="0")


@struct
class ListOffsetsTopicResponse(Struct):
    """The results of one topic."""

    name: str = field(String, entity="topicName")
    partitions: list[ListOffsetsPartitionResponse] = field(Array(ListOffsetsPartitionResponse))


@message(api_key=ApiKey.LIST_OFFSETS, versions="0-11", flexible="6+")
class ListOffsetsResponse(Message):
    """The response: the offset and timestamp or an error per partition."""

    throttle_time_ms: int = field(Int32, versions="2+", ignorable=True)
    topics: list[ListOffsetsTopicResponse] = field(Array(ListOffsetsTopicResponse))
