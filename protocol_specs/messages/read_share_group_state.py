"""ReadShareGroupState (api key 84): the state of share partitions, for their leader.

Mirrors ReadShareGroupStateRequest and ReadShareGroupStateResponse; KIP-932.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int8, Int16, Int32, Int64, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class PartitionData(Struct):
    """One element of partitions."""

    partition: int = field(Int32)
    leader_epoch: int = field(Int32)


@struct
class ReadStateData(Struct):
    """One element of topics."""

    topic_id: bytes = field(Uuid)
    partitions: list[PartitionData] = field(Array(PartitionData))


@message(api_key=ApiKey.READ_SHARE_GROUP_STATE, versions="0", flexible="0+")
class ReadShareGroupStateRequest(Message):
    """The request: the state of share partitions, for their leader."""

    group_id: str = field(String)
    topics: list[ReadStateData] = field(Array(ReadStateData))


@struct
class StateBatch(Struct):
    """One element of state_batches."""

    first_offset: int = field(Int64)
    last_offset: int = field(Int64)
    delivery_state: int = field(Int8)
    delivery_count: int = field(Int16)


@struct
class PartitionResult(Struct):
    """One element of partitions."""

    partition: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    state_epoch: int = field(Int32)
    start_offset: int = field(Int64)
    state_batches: list[StateBatch] = field(Array(StateBatch))


@struct
class ReadStateResult(Struct):
    """One element of results."""

    topic_id: bytes = field(Uuid)
    partitions: list[PartitionResult] = field(Array(PartitionResult))


@message(api_key=ApiKey.READ_SHARE_GROUP_STATE, versions="0", flexible="0+")
class ReadShareGroupStateResponse(Message):
    """What the broker answers to ReadShareGroupStateRequest."""

    results: list[ReadStateResult] = field(Array(ReadStateResult))
