"""ListPartitionReassignments (api key 46): list the partitions whose replicas are being changed.

Mirrors ListPartitionReassignmentsRequest and ListPartitionReassignmentsResponse; KIP-455.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class ListPartitionReassignmentsTopics(Struct):
    """The requested partitions of one topic."""

    name: str = field(String, entity="topicName")
    partition_indexes: list[int] = field(Array(Int32))


@message(api_key=ApiKey.LIST_PARTITION_REASSIGNMENTS, versions="0", flexible="0+")
class ListPartitionReassignmentsRequest(Message):
    """The request: list the partitions whose replicas are being changed."""

    timeout_ms: int = field(Int32, default=60000)
    topics: list[ListPartitionReassignmentsTopics] | None = field(
        Array(ListPartitionReassignmentsTopics), nullable="0+", default=None
    )


@struct
class OngoingPartitionReassignment(Struct):
    """The replicas of one partition, and those that are added and removed."""

    partition_index: int = field(Int32)
    replicas: list[int] = field(Array(Int32), entity="brokerId")
    adding_replicas: list[int] = field(Array(Int32), entity="brokerId")
    removing_replicas: list[int] = field(Array(Int32), entity="brokerId")


@struct
class OngoingTopicReassignment(Struct):
    """The ongoing reassignments of one topic."""

    name: str = field(String, entity="topicName")
    partitions: list[OngoingPartitionReassignment] = field(Array(OngoingPartitionReassignment))


@message(api_key=ApiKey.LIST_PARTITION_REASSIGNMENTS, versions="0", flexible="0+")
class ListPartitionReassignmentsResponse(Message):
    """The response: the ongoing reassignments, by topic."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    topics: list[OngoingTopicReassignment] = field(Array(OngoingTopicReassignment))
