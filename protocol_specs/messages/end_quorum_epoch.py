"""EndQuorumEpoch (api key 54): a leader of the metadata quorum resigns.

Mirrors EndQuorumEpochRequest and EndQuorumEpochResponse; KIP-595, KIP-853.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, String, Uint16, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class ReplicaInfo(Struct):
    """A voter that could be the next leader, by id and directory id (KIP-853)."""

    candidate_id: int = field(Int32, versions="1+", entity="brokerId")
    candidate_directory_id: bytes = field(Uuid, versions="1+")


@struct
class PartitionData(Struct):
    """The resigned leader of one partition and its preferred successors."""

    partition_index: int = field(Int32)
    leader_id: int = field(Int32, entity="brokerId")
    leader_epoch: int = field(Int32)
    preferred_successors: list[int] = field(Array(Int32), versions="0", ignorable=True)
    preferred_candidates: list[ReplicaInfo] = field(Array(ReplicaInfo), versions="1+", ignorable=True)


@struct
class TopicData(Struct):
    """The partitions of one topic; a quorum has one, __cluster_metadata-0."""

    topic_name: str = field(String, entity="topicName")
    partitions: list[PartitionData] = field(Array(PartitionData))


@struct
class LeaderEndpoint(Struct):
    """One endpoint of the resigned leader."""

    name: str = field(String, versions="1+", map_key=True)
    host: str = field(String, versions="1+")
    port: int = field(Uint16, versions="1+")


@message(api_key=ApiKey.END_QUORUM_EPOCH, versions="0-1", flexible="1+")
class EndQuorumEpochRequest(Message):
    """The request: a leader of the metadata quorum resigns."""

    cluster_id: str | None = field(String, nullable="0+", default=None)
    topics: list[TopicData] = field(Array(TopicData))
    leader_endpoints: list[LeaderEndpoint] = field(Array(LeaderEndpoint), versions="1+", ignorable=True)


@struct
class ResponsePartitionData(Struct):
    """The leader and epoch that the voter knows, or an error."""

    partition_index: int = field(Int32)
    error_code: int = field(Int16)
    leader_id: int = field(Int32, entity="brokerId")
    leader_epoch: int = field(Int32)


@struct
class ResponseTopicData(Struct):
    """The results of one topic."""

    topic_name: str = field(String, entity="topicName")
    partitions: list[ResponsePartitionData] = field(Array(ResponsePartitionData))


@struct
class NodeEndpoint(Struct):
    """The address of the leader that the voter knows."""

    node_id: int = field(Int32, versions="1+", map_key=True, entity="brokerId")
    host: str = field(String, versions="1+")
    port: int = field(Uint16, versions="1+")


@message(api_key=ApiKey.END_QUORUM_EPOCH, versions="0-1", flexible="1+")
class EndQuorumEpochResponse(Message):
    """The response: the leader and epoch that the voter knows, per partition."""

    error_code: int = field(Int16)
    topics: list[ResponseTopicData] = field(Array(ResponseTopicData))
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint), versions="1+", tag=0, tagged="1+")
