"""DescribeProducers (api key 61): the producers that a partition remembers.

Mirrors DescribeProducersRequest and DescribeProducersResponse; KIP-664.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, Int64, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class TopicRequest(Struct):
    """One element of topics."""

    name: str = field(String, entity="topicName")
    partition_indexes: list[int] = field(Array(Int32))


@message(api_key=ApiKey.DESCRIBE_PRODUCERS, versions="0", flexible="0+")
class DescribeProducersRequest(Message):
    """What a client asks: the producers that a partition remembers."""

    topics: list[TopicRequest] = field(Array(TopicRequest))


@struct
class ProducerState(Struct):
    """One element of active_producers."""

    producer_id: int = field(Int64, entity="producerId")
    producer_epoch: int = field(Int32)
    last_sequence: int = field(Int32, default=-1)
    last_timestamp: int = field(Int64, default=-1)
    coordinator_epoch: int = field(Int32)
    current_txn_start_offset: int = field(Int64, default=-1)


@struct
class PartitionResponse(Struct):
    """One element of partitions."""

    partition_index: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    active_producers: list[ProducerState] = field(Array(ProducerState))


@struct
class TopicResponse(Struct):
    """One element of topics."""

    name: str = field(String, entity="topicName")
    partitions: list[PartitionResponse] = field(Array(PartitionResponse))


@message(api_key=ApiKey.DESCRIBE_PRODUCERS, versions="0", flexible="0+")
class DescribeProducersResponse(Message):
    """What the broker answers to DescribeProducersRequest."""

    throttle_time_ms: int = field(Int32)
    topics: list[TopicResponse] = field(Array(TopicResponse))
