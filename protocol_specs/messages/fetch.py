"""Fetch (api key 1): read record batches, as a consumer or as a follower.

Mirrors FetchRequest and FetchResponse; KIP-227, KIP-320, KIP-392, KIP-516, KIP-595, KIP-903, KIP-951.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int8, Int16, Int32, Int64, Records, String, Uuid
from protocol_specs.message import Message, RecordsBuffer, Struct, field, message, struct


@struct
class ReplicaState(Struct):
    """The follower that fetches, with its broker epoch (KIP-903)."""

    replica_id: int = field(Int32, versions="15+", default=-1, entity="brokerId")
    replica_epoch: int = field(Int64, versions="15+", default=-1)


@struct
class FetchPartition(Struct):
    """The fetch position and limit of one partition."""

    partition: int = field(Int32)
    current_leader_epoch: int = field(Int32, versions="9+", default=-1, ignorable=True)
    fetch_offset: int = field(Int64)
    last_fetched_epoch: int = field(Int32, versions="12+", default=-1)
    log_start_offset: int = field(Int64, versions="5+", default=-1, ignorable=True)
    partition_max_bytes: int = field(Int32)
    replica_directory_id: bytes = field(Uuid, versions="17+", tag=0, tagged="17+", ignorable=True)
    high_watermark: int = field(Int64, versions="18+", tag=1, tagged="18+", default=9223372036854775807, ignorable=True)


@struct
class FetchTopic(Struct):
    """The partitions of one topic to add to the fetch session, or to change in it."""

    topic: str = field(String, versions="0-12", ignorable=True, entity="topicName")
    topic_id: bytes = field(Uuid, versions="13+", ignorable=True)
    partitions: list[FetchPartition] = field(Array(FetchPartition))


@struct
class ForgottenTopic(Struct):
    """The partitions of one topic to remove from the fetch session (KIP-227)."""

    topic: str = field(String, versions="7-12", ignorable=True, entity="topicName")
    topic_id: bytes = field(Uuid, versions="13+", ignorable=True)
    partitions: list[int] = field(Array(Int32), versions="7+")


@message(api_key=ApiKey.FETCH, versions="0-18", flexible="12+")
class FetchRequest(Message):
    """The request: read record batches, as a consumer or as a follower."""

    cluster_id: str | None = field(
        String, versions="12+", nullable="12+", tag=0, tagged="12+", default=None, ignorable=True
    )
    replica_id: int = field(Int32, versions="0-14", default=-1, entity="brokerId")
    replica_state: ReplicaState = field(ReplicaState, versions="15+", tag=1, tagged="15+")
    max_wait_ms: int = field(Int32)
    min_bytes: int = field(Int32)
    max_bytes: int = field(Int32, versions="3+", default=2147483647, ignorable=True)
    isolation_level: int = field(Int8, versions="4+", ignorable=True)
    session_id: int = field(Int32, versions="7+", ignorable=True)
    session_epoch: int = field(Int32, versions="7+", default=-1, ignorable=True)
    topics: list[FetchTopic] = field(Array(FetchTopic))
    forgotten_topics_data: list[ForgottenTopic] = field(Array(ForgottenTopic), versions="7+")
    rack_id: str = field(String, versions="11+", ignorable=True)


@struct
class EpochEndOffset(Struct):
    """The epoch and offset to which the reader must truncate, if the logs diverge (KIP-595)."""

    epoch: int = field(Int32, versions="12+", default=-1)
    end_offset: int = field(Int64, versions="12+", default=-1)


@struct
class LeaderIdAndEpoch(Struct):
    """The current leader, sent with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH (KIP-951)."""

    leader_id: int = field(Int32, versions="12+", default=-1, entity="brokerId")
    leader_epoch: int = field(Int32, versions="12+", default=-1)


@struct
class SnapshotId(Struct):
    """The snapshot to fetch, if the fetch offset is before the log start offset (KIP-630)."""

    end_offset: int = field(Int64, versions="12+", default=-1)
    epoch: int = field(Int32, versions="12+", default=-1)


@struct
class AbortedTransaction(Struct):
    """An aborted transaction in the returned range, for isolation level READ_COMMITTED (KIP-98)."""

    producer_id: int = field(Int64, versions="4+", entity="producerId")
    first_offset: int = field(Int64, versions="4+")


@struct
class PartitionData(Struct):
    """The record batches and watermarks of one partition, or an error."""

    partition_index: int = field(Int32)
    error_code: int = field(Int16)
    high_watermark: int = field(Int64)
    last_stable_offset: int = field(Int64, versions="4+", default=-1, ignorable=True)
    log_start_offset: int = field(Int64, versions="5+", default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset = field(EpochEndOffset, versions="12+", tag=0, tagged="12+")
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch, versions="12+", tag=1, tagged="12+")
    snapshot_id: SnapshotId = field(SnapshotId, versions="12+", tag=2, tagged="12+")
    aborted_transactions: list[AbortedTransaction] | None = field(
        Array(AbortedTransaction), versions="4+", nullable="4+", ignorable=True
    )
    preferred_read_replica: int = field(Int32, versions="11+", default=-1, entity="brokerId")
    records: RecordsBuffer | None = field(Records, nullable="0+")


@struct
class FetchableTopicResponse(Struct):
    """The results of one topic."""

    topic: str = field(String, versions="0-12", ignorable=True, entity="topicName")
    topic_id: bytes = field(Uuid, versions="13+", ignorable=True)
    partitions: list[PartitionData] = field(Array(PartitionData))


@struct
class NodeEndpoint(Struct):
    """The address of a new leader, so that a client needs no Metadata request (KIP-951)."""

    node_id: int = field(Int32, versions="16+", map_key=True, entity="brokerId")
    host: str = field(String, versions="16+")
    port: int = field(Int32, versions="16+")
    rack: str | None = field(String, versions="16+", nullable="16+", default=None)


@message(api_key=ApiKey.FETCH, versions="0-18", flexible="12+")
class FetchResponse(Message):
    """The response: record batches or an error per partition."""

    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    error_code: int = field(Int16, versions="7+", ignorable=True)
    session_id: int = field(Int32, versions="7+")
    responses: list[FetchableTopicResponse] = field(Array(FetchableTopicResponse))
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint), versions="16+", tag=0, tagged="16+")
