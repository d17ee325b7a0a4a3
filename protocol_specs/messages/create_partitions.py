"""CreatePartitions (api key 37): add partitions to topics.

Mirrors CreatePartitionsRequest and CreatePartitionsResponse; KIP-195, KIP-599.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class CreatePartitionsAssignment(Struct):
    """The replicas of one new partition."""

    broker_ids: list[int] = field(Array(Int32), entity="brokerId")


@struct
class CreatePartitionsTopic(Struct):
    """One topic with its new partition count."""

    name: str = field(String, map_key=True, entity="topicName")
    count: int = field(Int32)
    assignments: list[CreatePartitionsAssignment] | None = field(Array(CreatePartitionsAssignment), nullable="0+")


@message(api_key=ApiKey.CREATE_PARTITIONS, versions="0-3", flexible="2+")
class CreatePartitionsRequest(Message):
    """The request: add partitions to topics."""

    topics: list[CreatePartitionsTopic] = field(Array(CreatePartitionsTopic))
    timeout_ms: int = field(Int32)
    validate_only: bool = field(Bool)


@struct
class CreatePartitionsTopicResult(Struct):
    """The result of one topic."""

    name: str = field(String, entity="topicName")
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)


@message(api_key=ApiKey.CREATE_PARTITIONS, versions="0-3", flexible="2+")
class CreatePartitionsResponse(Message):
    """The response: one result per topic."""

    throttle_time_ms: int = field(Int32)
    results: list[CreatePartitionsTopicResult] = field(Array(CreatePartitionsTopicResult))
