"""DescribeProducers (api key 61): list the producers that partitions have state of.

Mirrors DescribeProducersRequest and DescribeProducersResponse; KIP-664.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, Int64, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class TopicRequest(Struct):
    """The requested partitions of one topic."""

    name: str = field(String, entity="topicName")
    partition_indexes: list[int] = field(Array(Int32))


@message(api_key=ApiKey.DESCRIBE_PRODUCERS, versions="0", flexible="0+")
class DescribeProducersRequest(Message):
    """The request: list the producers that partitions have state of."""

    topics: list[TopicRequest] = field(Array(TopicRequest))


@struct
class ProducerState(Struct):
    """The state of one producer in a partition, as ProducerStateManager keeps it."""

    producer_id: int = field(Int64, entity="producerId")
    producer_epoch: int = field(Int32)
    last_sequence: int = field(Int32, default=-1)
    last_timestamp: int = field(Int64, default=-1)
    coordinator_epoch: int = field(Int32)
    current_txn_start_offset: int = field(Int64, default=-1)


@struct
class PartitionResponse(Struct):
    """The producers of one partition, or an error."""

    partition_index: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    active_producers: list[ProducerState] = field(Array(ProducerState))


@struct
class TopicResponse(Struct):
    """The results of one topic."""

    name: str = field(String, entity="topicName")
    partitions: list[PartitionResponse] = field(Array(PartitionResponse))


@message(api_key=ApiKey.DESCRIBE_PRODUCERS, versions="0", flexible="0+")
class DescribeProducersResponse(Message):
    """The response: the producer state per partition."""

    throttle_time_ms: int = field(Int32)
    topics: list[TopicResponse] = field(Array(TopicResponse))
