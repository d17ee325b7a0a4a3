"""DeleteShareGroupState (api key 86): delete the state of share partitions.

Mirrors DeleteShareGroupStateRequest and DeleteShareGroupStateResponse; KIP-932.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class PartitionData(Struct):
    """A share partition whose state is deleted."""

    partition: int = field(Int32)


@struct
class DeleteStateData(Struct):
    """The share partitions of one topic."""

    topic_id: bytes = field(Uuid)
    partitions: list[PartitionData] = field(Array(PartitionData))


@message(api_key=ApiKey.DELETE_SHARE_GROUP_STATE, versions="0", flexible="0+")
class DeleteShareGroupStateRequest(Message):
    """The request: delete the state of share partitions."""

    group_id: str = field(String)
    topics: list[DeleteStateData] = field(Array(DeleteStateData))


@struct
class PartitionResult(Struct):
    """The result of one share partition."""

    partition: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)


@struct
class DeleteStateResult(Struct):
    """The results of one topic."""

    topic_id: bytes = field(Uuid)
    partitions: list[PartitionResult] = field(Array(PartitionResult))


@message(api_key=ApiKey.DELETE_SHARE_GROUP_STATE, versions="0", flexible="0+")
class DeleteShareGroupStateResponse(Message):
    """The response: one result per share partition."""

    results: list[DeleteStateResult] = field(Array(DeleteStateResult))
