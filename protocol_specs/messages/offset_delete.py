"""OffsetDelete (api key 47): delete committed offsets of a group.

Mirrors OffsetDeleteRequest and OffsetDeleteResponse; KIP-496.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class OffsetDeleteRequestPartition(Struct):
    """A partition whose committed offset is deleted."""

    partition_index: int = field(Int32)


@struct
class OffsetDeleteRequestTopic(Struct):
    """The partitions of one topic."""

    name: str = field(String, map_key=True, entity="topicName")
    partitions: list[OffsetDeleteRequestPartition] = field(Array(OffsetDeleteRequestPartition))


@message(api_key=ApiKey.OFFSET_DELETE, versions="0")
class OffsetDeleteRequest(Message):
    """The request: delete committed offsets of a group."""

    group_id: str = field(String, entity="groupId")
    topics: list[OffsetDeleteRequestTopic] = field(Array(OffsetDeleteRequestTopic))


@struct
class OffsetDeleteResponsePartition(Struct):
    """The result of one partition."""

    partition_index: int = field(Int32, map_key=True)
    error_code: int = field(Int16)


@struct
class OffsetDeleteResponseTopic(Struct):
    """The results of one topic."""

    name: str = field(String, map_key=True, entity="topicName")
    partitions: list[OffsetDeleteResponsePartition] = field(Array(OffsetDeleteResponsePartition))


@message(api_key=ApiKey.OFFSET_DELETE, versions="0")
class OffsetDeleteResponse(Message):
    """The response: one error code per partition."""

    error_code: int = field(Int16)
    throttle_time_ms: int = field(Int32, ignorable=True)
    topics: list[OffsetDeleteResponseTopic] = field(Array(OffsetDeleteResponseTopic))
