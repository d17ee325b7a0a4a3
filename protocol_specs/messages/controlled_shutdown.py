"""ControlledShutdown (api key 7): a broker requests that the controller move its leaders away before it stops.

Mirrors ControlledShutdownRequest and ControlledShutdownResponse; KIP-380.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, Int64, String
from protocol_specs.message import Message, Struct, field, message, struct


@message(api_key=ApiKey.CONTROLLED_SHUTDOWN, versions="0-3", flexible="3+")
class ControlledShutdownRequest(Message):
    """The request: a broker requests that the controller move its leaders away before it stops."""

    broker_id: int = field(Int32, entity="brokerId")
    broker_epoch: int = field(Int64, versions="2+", default=-1, ignorable=True)


@struct
class RemainingPartition(Struct):
    """A partition that the broker still leads."""

    topic_name: str = field(String, map_key=True, entity="topicName")
    partition_index: int = field(Int32, map_key=True)


@message(api_key=ApiKey.CONTROLLED_SHUTDOWN, versions="0-3", flexible="3+")
class ControlledShutdownResponse(Message):
    """The response: the partitions that the broker still leads."""

    error_code: int = field(Int16)
    remaining_partitions: list[RemainingPartition] = field(Array(RemainingPartition))
