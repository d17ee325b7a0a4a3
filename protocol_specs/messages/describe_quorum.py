"""DescribeQuorum (api key 55): list the leader, voters and observers of the metadata quorum.

Mirrors DescribeQuorumRequest and DescribeQuorumResponse; KIP-595, KIP-836, KIP-853.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, Int64, String, Uint16, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class PartitionData(Struct):
    """One requested partition."""

    partition_index: int = field(Int32)


@struct
class TopicData(Struct):
    """The requested partitions of one topic; a quorum has one, __cluster_metadata-0."""

    topic_name: str = field(String, entity="topicName")
    partitions: list[PartitionData] = field(Array(PartitionData))


@message(api_key=ApiKey.DESCRIBE_QUORUM, versions="0-2", flexible="0+")
class DescribeQuorumRequest(Message):
    """The request: list the leader, voters and observers of the metadata quorum."""

    topics: list[TopicData] = field(Array(TopicData))


@struct
class ReplicaState(Struct):
    """One voter or observer with its log end offset and fetch times."""

    replica_id: int = field(Int32, entity="brokerId")
    replica_directory_id: bytes = field(Uuid, versions="2+")
    log_end_offset: int = field(Int64)
    last_fetch_timestamp: int = field(Int64, versions="1+", default=-1, ignorable=True)
    last_caught_up_timestamp: int = field(Int64, versions="1+", default=-1, ignorable=True)


@struct
class ResponsePartitionData(Struct):
    """The leader, high watermark, voters and observers of one partition."""

    partition_index: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, versions="2+", nullable="2+", ignorable=True)
    leader_id: int = field(Int32, entity="brokerId")
    leader_epoch: int = field(Int32)
    high_watermark: int = field(Int64)
    current_voters: list[ReplicaState] = field(Array(ReplicaState))
    observers: list[ReplicaState] = field(Array(ReplicaState))


@struct
class ResponseTopicData(Struct):
    """The results of one topic."""

    topic_name: str = field(String, entity="topicName")
    partitions: list[ResponsePartitionData] = field(Array(ResponsePartitionData))


@struct
class Listener(Struct):
    """One endpoint of a node."""

    name: str = field(String, versions="2+", map_key=True)
    host: str = field(String, versions="2+")
    port: int = field(Uint16, versions="2+")


@struct
class Node(Struct):
    """One node of the quorum with its endpoints (KIP-853)."""

    node_id: int = field(Int32, versions="2+", map_key=True, entity="brokerId")
    listeners: list[Listener] = field(Array(Listener), versions="2+")


@message(api_key=ApiKey.DESCRIBE_QUORUM, versions="0-2", flexible="0+")
class DescribeQuorumResponse(Message):
    """The response: the quorum state per partition, and the listeners of its nodes."""

    error_code: int = field(Int16)
    error_message: str | None = field(String, versions="2+", nullable="2+", ignorable=True)
    topics: list[ResponseTopicData] = field(Array(ResponseTopicData))
    nodes: list[Node] = field(Array(Node), versions="2+")
