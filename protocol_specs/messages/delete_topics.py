"""DeleteTopics (api key 20): delete topics by name or by id.

Mirrors DeleteTopicsRequest and DeleteTopicsResponse; KIP-4, KIP-516.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class DeleteTopicState(Struct):
    """A topic to delete, by name or by id (KIP-516)."""

    name: str | None = field(String, versions="6+", nullable="6+", default=None, entity="topicName")
    topic_id: bytes = field(Uuid, versions="6+")


@message(api_key=ApiKey.DELETE_TOPICS, versions="0-6", flexible="4+")
class DeleteTopicsRequest(Message):
    """The request: delete topics by name or by id."""

    topics: list[DeleteTopicState] = field(Array(DeleteTopicState), versions="6+")
    topic_names: list[str] = field(Array(String), versions="0-5", ignorable=True, entity="topicName")
    timeout_ms: int = field(Int32)


@struct
class DeletableTopicResult(Struct):
    """The result of one topic."""

    name: str | None = field(String, nullable="6+", map_key=True, entity="topicName")
    topic_id: bytes = field(Uuid, versions="6+", ignorable=True)
    error_code: int = field(Int16)
    error_message: str | None = field(String, versions="5+", nullable="5+", default=None, ignorable=True)


@message(api_key=ApiKey.DELETE_TOPICS, versions="0-6", flexible="4+")
class DeleteTopicsResponse(Message):
    """The response: one result per topic."""

    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    responses: list[DeletableTopicResult] = field(Array(DeletableTopicResult))
