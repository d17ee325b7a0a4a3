"""ShareFetch (api key 78): acquire records of a share group, and acknowledge earlier ones.

Mirrors ShareFetchRequest and ShareFetchResponse; KIP-932, KIP-1206, KIP-1222.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Bool, Int8, Int16, Int32, Int64, Records, String, Uuid
from protocol_specs.message import Message, RecordsBuffer, Struct, field, message, struct


@struct
class AcknowledgementBatch(Struct):
    """The acknowledge types of a range of offsets: gap, accept, release or reject."""

    first_offset: int = field(Int64)
    last_offset: int = field(Int64)
    acknowledge_types: list[int] = field(Array(Int8))


@struct
class FetchPartition(Struct):
    """The limit of one share partition, and acknowledgements of earlier records."""

    partition_index: int = field(Int32, map_key=True)
    partition_max_bytes: int = field(Int32, versions="0")
    acknowledgement_batches: list[AcknowledgementBatch] = field(Array(AcknowledgementBatch))


@struct
class FetchTopic(Struct):
    """The share partitions of one topic to add to the share session, or to change in it."""

    topic_id: bytes = field(Uuid, map_key=True)
    partitions: list[FetchPartition] = field(Array(FetchPartition))


@struct
class ForgottenTopic(Struct):
    """The share partitions of one topic to remove from the share session."""

    topic_id: bytes = field(Uuid)
    partitions: list[int] = field(Array(Int32))


@message(api_key=ApiKey.SHARE_FETCH, versions="0-2", flexible="0+")
class ShareFetchRequest(Message):
    """The request: acquire records of a share group, and acknowledge earlier ones."""

    group_id: str | None = field(String, nullable="0+", default=None, entity="groupId")
    member_id: str | None = field(String, nullable="0+")
    share_session_epoch: int = field(Int32)
    max_wait_ms: int = field(Int32)
    min_bytes: int = field(Int32)
    max_bytes: int = field(Int32, default=2147483647)
    max_records: int = field(Int32, versions="1+")
    batch_size: int = field(Int32, versions="1+")
    share_acquire_mode: int = field(Int8, versions="2+", ignorable=True)
    is_renew_ack: bool = field(Bool, versions="2+")
    topics: list[FetchTopic] = field(Array(FetchTopic))
    forgotten_topics_data: list[ForgottenTopic] = field(Array(ForgottenTopic))


@struct
class LeaderIdAndEpoch(Struct):
    """The current leader, sent with NOT_LEADER_OR_FOLLOWER."""

    leader_id: int = field(Int32)
    leader_epoch: int = field(Int32)


@struct
class AcquiredRecords(Struct):
    """A range of offsets that the member has acquired, with its delivery count."""

    first_offset: int = field(Int64)
    last_offset: int = field(Int64)
    delivery_count: int = field(Int16)


@struct
class PartitionData(Struct):
    """The acquired records of one share partition, or an error."""

    partition_index: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    acknowledge_error_code: int = field(Int16)
    acknowledge_error_message: str | None = field(String, nullable="0+", default=None)
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch)
    records: RecordsBuffer | None = field(Records, nullable="0")
    acquired_records: list[AcquiredRecords] = field(Array(AcquiredRecords))


@struct
class ShareFetchableTopicResponse(Struct):
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


@message(api_key=ApiKey.SHARE_FETCH, versions="0-2", flexible="0+")
class ShareFetchResponse(Message):
    """The response: the acquired records or an error per partition."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    acquisition_lock_timeout_ms: int = field(Int32, versions="1+")
    responses: list[ShareFetchableTopicResponse] = field(Array(ShareFetchableTopicResponse))
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint))
