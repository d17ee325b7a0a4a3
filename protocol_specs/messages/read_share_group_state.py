"""ReadShareGroupState (api key 84): the leader of share partitions reads their state.

Mirrors ReadShareGroupStateRequest and ReadShareGroupStateResponse; KIP-932.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int8, Int16, Int32, Int64, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class PartitionData(Struct):
    """A requested share partition, with the leader epoch of the reader."""

    partition: int = field(Int32)
    leader_epoch: int = field(Int32)


@struct
class ReadStateData(Struct):
    """The requested share partitions of one topic."""

    topic_id: bytes = field(Uuid)
    partitions: list[PartitionData] = field(Array(PartitionData))


@message(api_key=ApiKey.READ_SHARE_GROUP_STATE, versions="0", flexible="0+")
class ReadShareGroupStateRequest(Message):
    """The request: the leader of share partitions reads their state."""

    group_id: str = field(String)
    topics: list[ReadStateData] = field(Array(ReadStateData))


@struct
class StateBatch(Struct):
    """The delivery state and count of a range of offsets."""

    first_offset: int = field(Int64)
    last_offset: int = field(Int64)
    delivery_state: int = field(Int8)
    delivery_count: int = field(Int16)


@struct
class PartitionResult(Struct):
    """The start offset and state batches of one share partition, or an error."""

    partition: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    state_epoch: int = field(Int32)
    start_offset: int = field(Int64)
    state_batches: list[StateBatch] = field(Array(StateBatch))


@struct
class ReadStateResult(Struct):
    """The results of one topic."""

    topic_id: bytes = field(Uuid)
    partitions: list[PartitionResult] = field(Array(PartitionResult))


@message(api_key=ApiKey.READ_SHARE_GROUP_STATE, versions="0", flexible="0+")
class ReadShareGroupStateResponse(Message):
    """The response: the whole state per share partition."""

    results: list[ReadStateResult] = field(Array(ReadStateResult))
