"""WriteShareGroupState (api key 85): the leader of share partitions writes their state.

Mirrors WriteShareGroupStateRequest and WriteShareGroupStateResponse; KIP-932.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int8, Int16, Int32, Int64, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class StateBatch(Struct):
    """The delivery state and count of a range of offsets."""

    first_offset: int = field(Int64)
    last_offset: int = field(Int64)
    delivery_state: int = field(Int8)
    delivery_count: int = field(Int16)


@struct
class PartitionData(Struct):
    """The start offset and state batches of one share partition."""

    partition: int = field(Int32)
    state_epoch: int = field(Int32)
    leader_epoch: int = field(Int32)
    start_offset: int = field(Int64)
    delivery_complete_count: int = field(Int32, versions="1+", default=-1, ignorable=True)
    state_batches: list[StateBatch] = field(Array(StateBatch))


@struct
class WriteStateData(Struct):
    """The states of one topic."""

    topic_id: bytes = field(Uuid)
    partitions: list[PartitionData] = field(Array(PartitionData))


@message(api_key=ApiKey.WRITE_SHARE_GROUP_STATE, versions="0-1", flexible="0+")
class WriteShareGroupStateRequest(Message):
    """The request: the leader of share partitions writes their state."""

    group_id: str = field(String)
    topics: list[WriteStateData] = field(Array(WriteStateData))


@struct
class PartitionResult(Struct):
    """The result of one share partition."""

    partition: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)


@struct
class WriteStateResult(Struct):
    """The results of one topic."""

    topic_id: bytes = field(Uuid)
    partitions: list[PartitionResult] = field(Array(PartitionResult))


@message(api_key=ApiKey.WRITE_SHARE_GROUP_STATE, versions="0-1", flexible="0+")
class WriteShareGroupStateResponse(Message):
    """The response: one result per share partition."""

    results: list[WriteStateResult] = field(Array(WriteStateResult))
