"""AlterShareGroupOffsets (api key 91): set the start offsets of a share group.

Mirrors AlterShareGroupOffsetsRequest and AlterShareGroupOffsetsResponse; KIP-932.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, Int64, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class AlterShareGroupOffsetsRequestPartition(Struct):
    """The new start offset of one share partition."""

    partition_index: int = field(Int32)
    start_offset: int = field(Int64)


@struct
class AlterShareGroupOffsetsRequestTopic(Struct):
    """The new start offsets of one topic."""

    topic_name: str = field(String, map_key=True, entity="topicName")
    partitions: list[AlterShareGroupOffsetsRequestPartition] = field(Array(AlterShareGroupOffsetsRequestPartition))


@message(api_key=ApiKey.ALTER_SHARE_GROUP_OFFSETS, versions="0", flexible="0+")
class AlterShareGroupOffsetsRequest(Message):
    """The request: set the start offsets of a share group."""

    group_id: str = field(String, entity="groupId")
    topics: list[AlterShareGroupOffsetsRequestTopic] = field(Array(AlterShareGroupOffsetsRequestTopic))


@struct
class AlterShareGroupOffsetsResponsePartition(Struct):
    """The result of one share partition."""

    partition_index: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)


@struct
class AlterShareGroupOffsetsResponseTopic(Struct):
    """The results of one topic."""

    topic_name: str = field(String, map_key=True, entity="topicName")
    topic_id: bytes = field(Uuid)
    partitions: list[AlterShareGroupOffsetsResponsePartition] = field(Array(AlterShareGroupOffsetsResponsePartition))


@message(api_key=ApiKey.ALTER_SHARE_GROUP_OFFSETS, versions="0", flexible="0+")
class AlterShareGroupOffsetsResponse(Message):
    """The response: one result per partition."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    responses: list[AlterShareGroupOffsetsResponseTopic] = field(Array(AlterShareGroupOffsetsResponseTopic))
