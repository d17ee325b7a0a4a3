"""DeleteShareGroupOffsets (api key 92): delete the start offsets of a share group.

Mirrors DeleteShareGroupOffsetsRequest and DeleteShareGroupOffsetsResponse; KIP-932.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class DeleteShareGroupOffsetsRequestTopic(Struct):
    """A topic whose start offsets are deleted."""

    topic_name: str = field(String, entity="topicName")


@message(api_key=ApiKey.DELETE_SHARE_GROUP_OFFSETS, versions="0", flexible="0+")
class DeleteShareGroupOffsetsRequest(Message):
    """The request: delete the start offsets of a share group."""

    group_id: str = field(String, entity="groupId")
    topics: list[DeleteShareGroupOffsetsRequestTopic] = field(Array(DeleteShareGroupOffsetsRequestTopic))


@struct
class DeleteShareGroupOffsetsResponseTopic(Struct):
    """The result of one topic."""

    topic_name: str = field(String, entity="topicName")
    topic_id: bytes = field(Uuid)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)


@message(api_key=ApiKey.DELETE_SHARE_GROUP_OFFSETS, versions="0", flexible="0+")
class DeleteShareGroupOffsetsResponse(Message):
    """The response: one result per topic."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    responses: list[DeleteShareGroupOffsetsResponseTopic] = field(Array(DeleteShareGroupOffsetsResponseTopic))
