"""ElectLeaders (api key 43): elect leaders of partitions: preferred or unclean.

Mirrors ElectLeadersRequest and ElectLeadersResponse; KIP-183, KIP-460.
Once named ElectPreferredLeaders.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int8, Int16, Int32, String
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class TopicPartitions(Struct):
    """The partitions of one topic that elect a leader."""

    topic: str = field(String, map_key=True, entity="topicName")
    partitions: list[int] = field(Array(Int32))


@message(api_key=ApiKey.ELECT_LEADERS, versions="0-2", flexible="2+")
class ElectLeadersRequest(Message):
    """The request: elect leaders of partitions: preferred or unclean."""

    election_type: int = field(Int8, versions="1+")
    topic_partitions: list[TopicPartitions] | None = field(Array(TopicPartitions), nullable="0+")
    timeout_ms: int = field(Int32, default=60000)


@struct
class PartitionResult(Struct):
    """The result of one election."""

    partition_id: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")


@struct
class ReplicaElectionResult(Struct):
    """The results of one topic."""

    topic: str = field(String, entity="topicName")
    partition_result: list[PartitionResult] = field(Array(PartitionResult))


@message(api_key=ApiKey.ELECT_LEADERS, versions="0-2", flexible="2+")
class ElectLeadersResponse(Message):
    """The response: one result per partition."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16, versions="1+")
    replica_election_results: list[ReplicaElectionResult] = field(Array(ReplicaElectionResult))
