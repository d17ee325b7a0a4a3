"""DescribeTopicPartitions (api key 75): list the partitions of topics, page by page.

Mirrors DescribeTopicPartitionsRequest and DescribeTopicPartitionsResponse; KIP-966.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int16, Int32, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class TopicRequest(Struct):
    """A requested topic."""

    name: str = field(String, entity="topicName")


@struct
class Cursor(Struct):
    """The first topic and partition of the page; null for the first page, or after the last."""

    topic_name: str = field(String, entity="topicName")
    partition_index: int = field(Int32)


@message(api_key=ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions="0", flexible="0+")
class DescribeTopicPartitionsRequest(Message):
    """The request: list the partitions of topics, page by page."""

    topics: list[TopicRequest] = field(Array(TopicRequest))
    response_partition_limit: int = field(Int32, default=2000)
    cursor: Cursor | None = field(Cursor, nullable="0+", default=None)


@struct
class DescribeTopicPartitionsResponsePartition(Struct):
    """One partition with leader, replicas, ISR and eligible leader replicas (KIP-966)."""

    error_code: int = field(Int16)
    partition_index: int = field(Int32)
    leader_id: int = field(Int32, entity="brokerId")
    leader_epoch: int = field(Int32, default=-1, ignorable=True)
    replica_nodes: list[int] = field(Array(Int32), entity="brokerId")
    isr_nodes: list[int] = field(Array(Int32), entity="brokerId")
    eligible_leader_replicas: list[int] | None = field(Array(Int32), nullable="0+", default=None, entity="brokerId")
    last_known_elr: list[int] | None = field(Array(Int32), nullable="0+", default=None, entity="brokerId")
    offline_replicas: list[int] = field(Array(Int32), ignorable=True, entity="brokerId")


@struct
class DescribeTopicPartitionsResponseTopic(Struct):
    """One topic with its partitions on the page, or an error."""

    error_code: int = field(Int16)
    name: str | None = field(String, nullable="0+", map_key=True, entity="topicName")
    topic_id: bytes = field(Uuid, ignorable=True)
    is_internal: bool = field(Bool, ignorable=True)
    partitions: list[DescribeTopicPartitionsResponsePartition] = field(Array(DescribeTopicPartitionsResponsePartition))
    topic_authorized_operations: int = field(Int32, default=-2147483648)


@message(api_key=ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions="0", flexible="0+")
class DescribeTopicPartitionsResponse(Message):
    """The response: one page of partitions, and the cursor of the next page."""

    throttle_time_ms: int = field(Int32, ignorable=True)
    topics: list[DescribeTopicPartitionsResponseTopic] = field(Array(DescribeTopicPartitionsResponseTopic))
    next_cursor: Cursor | None = field(Cursor, nullable="0+", default=None)
