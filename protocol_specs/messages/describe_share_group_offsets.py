"""DescribeShareGroupOffsets (api key 90): list the start offsets of share groups.

Mirrors DescribeShareGroupOffsetsRequest and DescribeShareGroupOffsetsResponse; KIP-932, KIP-1226.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, Int64, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class DescribeShareGroupOffsetsRequestTopic(Struct):
    """The requested partitions of one topic."""

    topic_name: str = field(String, entity="topicName")
    partitions: list[int] = field(Array(Int32))


@struct
class DescribeShareGroupOffsetsRequestGroup(Struct):
    """One group with its requested topics; null requests all."""

    group_id: str = field(String, entity="groupId")
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = field(
        Array(DescribeShareGroupOffsetsRequestTopic), nullable="0+"
    )


@message(api_key=ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsRequest(Message):
    """The request: list the start offsets of share groups."""

    groups: list[DescribeShareGroupOffsetsRequestGroup] = field(Array(DescribeShareGroupOffsetsRequestGroup))


@struct
class DescribeShareGroupOffsetsResponsePartition(Struct):
    """The start offset and lag of one share partition, or an error."""

    partition_index: int = field(Int32)
    start_offset: int = field(Int64)
    leader_epoch: int = field(Int32)
    lag: int = field(Int64, versions="1+", default=-1, ignorable=True)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)


@struct
class DescribeShareGroupOffsetsResponseTopic(Struct):
    """The start offsets of one topic."""

    topic_name: str = field(String, entity="topicName")
    topic_id: bytes = field(Uuid)
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = field(
        Array(DescribeShareGroupOffsetsResponsePartition)
    )


@struct
class DescribeShareGroupOffsetsResponseGroup(Struct):
    """The start offsets of one group, or an error."""

    group_id: str = field(String, entity="groupId")
    topics: list[DescribeShareGroupOffsetsResponseTopic] = field(Array(DescribeShareGroupOffsetsResponseTopic))
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)


@message(api_key=ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsResponse(Message):
    """The response: the start offsets per group and partition."""

    throttle_time_ms: int = field(Int32)
    groups: list[DescribeShareGroupOffsetsResponseGroup] = field(Array(DescribeShareGroupOffsetsResponseGroup))
