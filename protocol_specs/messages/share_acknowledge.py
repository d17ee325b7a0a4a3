"""ShareAcknowledge (api key 79): acknowledge records of a share group.

Mirrors ShareAcknowledgeRequest and ShareAcknowledgeResponse; KIP-932, KIP-1222.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int8, Int16, Int32, Int64, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class AcknowledgementBatch(Struct):
    """The acknowledge types of a range of offsets: gap, accept, release or reject."""

    first_offset: int = field(Int64)
    last_offset: int = field(Int64)
    acknowledge_types: list[int] = field(Array(Int8))


@struct
class AcknowledgePartition(Struct):
    """The acknowledgements of one share partition."""

    partition_index: int = field(Int32, map_key=True)
    acknowledgement_batches: list[AcknowledgementBatch] = field(Array(AcknowledgementBatch))


@struct
class AcknowledgeTopic(Struct):
    """The acknowledgements of one topic."""

    topic_id: bytes = field(Uuid, map_key=True)
    partitions: list[AcknowledgePartition] = field(Array(AcknowledgePartition))


@message(api_key=ApiKey.SHARE_ACKNOWLEDGE, versions="0-2", flexible="0+")
class ShareAcknowledgeRequest(Message):
    """The request: acknowledge records of a share group."""

    group_id: str | None = field(String, nullable="0+", default=None, entity="groupId")
    member_id: str | None = field(String, nullable="0+")
    share_session_epoch: int = field(Int32)
    is_renew_ack: bool = field(Bool, versions="2+")
    topics: list[AcknowledgeTopic] = field(Array(AcknowledgeTopic))


@struct
class LeaderIdAndEpoch(Struct):
    """The current leader, sent with NOT_LEADER_OR_FOLLOWER."""

    leader_id: int = field(Int32)
    leader_epoch: int = field(Int32)


@struct
class PartitionData(Struct):
    """The result of one share partition."""

    partition_index: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch)


@struct
class ShareAcknowledgeTopicResponse(Struct):
    """The results of one topic."""

    topic_id: bytes = field(Uuid, map_key=True)
    partitions: list[PartitionData] = field(Array(PartitionData))


@struct
class NodeEndpoint(Struct):
    """The address of a new leader."""

    node_id: int = field(Int32, map_key=True, entity="brokerId")
    host: str = field(String)
    port: int = field(Int32)
    rack: str | None = field(String, nullable="0+", default=None)


@message(api_key=ApiKey.SHARE_ACKNOWLEDGE, versions="0-2", flexible="0+")
class ShareAcknowledgeResponse(Message):
    """The response: one result per partition."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    acquisition_lock_timeout_ms: int = field(Int32, versions="2+", ignorable=True)
    responses: list[ShareAcknowledgeTopicResponse] = field(Array(ShareAcknowledgeTopicResponse))
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint))
