"""AlterPartitionReassignments (api key 45): change the replicas of partitions, or cancel a reassignment.

Mirrors AlterPartitionReassignmentsRequest and AlterPartitionReassignmentsResponse; KIP-455, KIP-860.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class ReassignablePartition(Struct):
    """The target replicas of one partition; null cancels its reassignment."""

    partition_index: int = field(Int32)
    replicas: list[int] | None = field(Array(Int32), nullable="0+", default=None, entity="brokerId")


@struct
class ReassignableTopic(Struct):
    """The reassignments of one topic."""

    name: str = field(String, entity="topicName")
    partitions: list[ReassignablePartition] = field(Array(ReassignablePartition))


@message(api_key=ApiKey.ALTER_PARTITION_REASSIGNMENTS, versions="0-1", flexible="0+")
class AlterPartitionReassignmentsRequest(Message):
    """The request: change the replicas of partitions, or cancel a reassignment."""

    timeout_ms: int = field(Int32, default=60000)
    allow_replication_factor_change: bool = field(Bool, versions="1+", default=True)
    topics: list[ReassignableTopic] = field(Array(ReassignableTopic))


@struct
class ReassignablePartitionResponse(Struct):
    """The result of one partition."""

    partition_index: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")


@struct
class ReassignableTopicResponse(Struct):
    """The results of one topic."""

    name: str = field(String, entity="topicName")
    partitions: list[ReassignablePartitionResponse] = field(Array(ReassignablePartitionResponse))


@message(api_key=ApiKey.ALTER_PARTITION_REASSIGNMENTS, versions="0-1", flexible="0+")
class AlterPartitionReassignmentsResponse(Message):
    """The response: one result per partition."""

    throttle_time_ms: int = field(Int32)
    allow_replication_factor_change: bool = field(Bool, versions="1+", default=True, ignorable=True)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    responses: list[ReassignableTopicResponse] = field(Array(ReassignableTopicResponse))
