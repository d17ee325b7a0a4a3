"""DeleteShareGroupOffsets (api key 92): delete the start offsets of a share group.

Mirrors DeleteShareGroupOffsetsRequest and DeleteShareGroupOffsetsResponse; KIP-932.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class DeleteShareGroupOffsetsRequestTopic(Struct):
    """One element of topics."""

    topic_name: str = field(String, entity="topicName")


@message(api_key=ApiKey.DELETE_SHARE_GROUP_OFFSETS, versions="0", flexible="0+")
class DeleteShareGroupOffsetsRequest(Message):
    """What a client asks: delete the start offsets of a share group."""

    group_id: str = field(String, entity="groupId")
    topics: list[DeleteShareGroupOffsetsRequestTopic] = field(Array(DeleteShareGroupOffsetsRequestTopic))


@struct
class DeleteShareGroupOffsetsResponseTopic(Struct):
    """One element of responses."""

    topic_name: str = field(String, entity="topicName")
    topic_id: bytes = field(Uuid)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)


@message(api_key=ApiKey.DELETE_SHARE_GROUP_OFFSETS, versions="0", flexible="0+")
class DeleteShareGroupOffsetsResponse(Message):
    """What the broker answers to DeleteShareGroupOffsetsRequest."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    responses: list[DeleteShareGroupOffsetsResponseTopic] = field(Array(DeleteShareGroupOffsetsResponseTopic))
