"""Vote (api key 52): a candidate requests votes in the metadata quorum.

Mirrors VoteRequest and VoteResponse; KIP-595, KIP-853, KIP-996.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int16, Int32, Int64, String, Uint16, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class PartitionData(Struct):
    """The vote request for one partition: the candidate's epoch and the end of its log."""

    partition_index: int = field(Int32)
    replica_epoch: int = field(Int32)
    replica_id: int = field(Int32, entity="brokerId")
    replica_directory_id: bytes = field(Uuid, versions="1+", ignorable=True)
    voter_directory_id: bytes = field(Uuid, versions="1+", ignorable=True)
    last_offset_epoch: int = field(Int32)
    last_offset: int = field(Int64)
    pre_vote: bool = field(Bool, versions="2+")


@struct
class TopicData(Struct):
    """The partitions of one topic; a quorum has one, __cluster_metadata-0."""

    topic_name: str = field(String, entity="topicName")
    partitions: list[PartitionData] = field(Array(PartitionData))


@message(api_key=ApiKey.VOTE, versions="0-2", flexible="0+")
class VoteRequest(Message):
    """The request: a candidate requests votes in the metadata quorum."""

    cluster_id: str | None = field(String, nullable="0+", default=None)
    voter_id: int = field(Int32, versions="1+", default=-1, ignorable=True, entity="brokerId")
    topics: list[TopicData] = field(Array(TopicData))


@struct
class ResponsePartitionData(Struct):
    """The vote for one partition, and the leader that the voter knows."""

    partition_index: int = field(Int32)
    error_code: int = field(Int16)
    leader_id: int = field(Int32, entity="brokerId")
    leader_epoch: int = field(Int32)
    vote_granted: bool = field(Bool)


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


@message(api_key=ApiKey.VOTE, versions="0-2", flexible="0+")
class VoteResponse(Message):
    """The response: the granted or refused vote per partition."""

    error_code: int = field(Int16)
    topics: list[ResponseTopicData] = field(Array(ResponseTopicData))
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint), versions="1+", tag=0, tagged="1+")
