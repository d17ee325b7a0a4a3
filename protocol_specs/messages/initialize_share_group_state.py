"""InitializeShareGroupState (api key 83): the group coordinator sets up the state of share partitions.

Mirrors InitializeShareGroupStateRequest and InitializeShareGroupStateResponse; KIP-932.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, Int64, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class PartitionData(Struct):
    """The state epoch and start offset of one share partition."""

    partition: int = field(Int32)
    state_epoch: int = field(Int32)
    start_offset: int = field(Int64)


@struct
class InitializeStateData(Struct):
    """The share partitions of one topic."""

    topic_id: bytes = field(Uuid)
    partitions: list[PartitionData] = field(Array(PartitionData))


@message(api_key=ApiKey.INITIALIZE_SHARE_GROUP_STATE, versions="0", flexible="0+")
class InitializeShareGroupStateRequest(Message):
    """The request: the group coordinator sets up the state of share partitions."""

    group_id: str = field(String)
    topics: list[InitializeStateData] = field(Array(InitializeStateData))


@struct
class PartitionResult(Struct):
    """The result of one share partition."""

    partition: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)


@struct
class InitializeStateResult(Struct):
    """The results of one topic."""

    topic_id: bytes = field(Uuid)
    partitions: list[PartitionResult] = field(Array(PartitionResult))


@message(api_key=ApiKey.INITIALIZE_SHARE_GROUP_STATE, versions="0", flexible="0+")
class InitializeShareGroupStateResponse(Message):
    """The response: one result per share partition."""

    results: list[InitializeStateResult] = field(Array(InitializeStateResult))
