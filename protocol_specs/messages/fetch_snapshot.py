"""FetchSnapshot (api key 59): read a snapshot of the metadata log.

Mirrors FetchSnapshotRequest and FetchSnapshotResponse; KIP-630, KIP-853.
"""

from __future__ import annotations

from protocol_specs.api_key import ApiKey
from protocol_specs.fields import Array, Int16, Int32, Int64, Records, String, Uint16, Uuid
from protocol_specs.message import Message, RecordsBuffer, Struct, field, message, struct


@struct
class SnapshotId(Struct):
    """A snapshot by the offset and epoch of its end."""

    end_offset: int = field(Int64)
    epoch: int = field(Int32)


@struct
class PartitionSnapshot(Struct):
    """The position in the snapshot of one partition."""

    partition: int = field(Int32)
    current_leader_epoch: int = field(Int32)
    snapshot_id: SnapshotId = field(SnapshotId)
    position: int = field(Int64)
    replica_directory_id: bytes = field(Uuid, versions="1+", tag=0, tagged="1+", ignorable=True)


@struct
class TopicSnapshot(Struct):
    """The requested snapshots of one topic; a quorum has one, __cluster_metadata-0."""

    name: str = field(String, entity="topicName")
    partitions: list[PartitionSnapshot] = field(Array(PartitionSnapshot))


@message(api_key=ApiKey.FETCH_SNAPSHOT, versions="0-1", flexible="0+")
class FetchSnapshotRequest(Message):
    """The request: read a snapshot of the metadata log."""

    cluster_id: str | None = field(String, nullable="0+", tag=0, tagged="0+", default=None)
    replica_id: int = field(Int32, default=-1, entity="brokerId")
    max_bytes: int = field(Int32, default=2147483647)
    topics: list[TopicSnapshot] = field(Array(TopicSnapshot))


@struct
class LeaderIdAndEpoch(Struct):
    """The current leader of the quorum."""

    leader_id: int = field(Int32, entity="brokerId")
    leader_epoch: int = field(Int32)


@struct
class ResponsePartitionSnapshot(Struct):
    """One chunk of the snapshot of a partition, or an error."""

    index: int = field(Int32)
    error_code: int = field(Int16)
    snapshot_id: SnapshotId = field(SnapshotId)
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch, tag=0, tagged="0+")
    size: int = field(Int64)
    position: int = field(Int64)
    unaligned_records: RecordsBuffer | None = field(Records)


@struct
class ResponseTopicSnapshot(Struct):
    """The results of one topic."""

    name: str = field(String, entity="topicName")
    partitions: list[ResponsePartitionSnapshot] = field(Array(ResponsePartitionSnapshot))


@struct
class NodeEndpoint(Struct):
    """The address of the current leader."""

    node_id: int = field(Int32, versions="1+", map_key=True, entity="brokerId")
    host: str = field(String, versions="1+")
    port: int = field(Uint16, versions="1+")


@message(api_key=ApiKey.FETCH_SNAPSHOT, versions="0-1", flexible="0+")
class FetchSnapshotResponse(Message):
    """The response: one chunk of a snapshot per partition."""

    throttle_time_ms: int = field(Int32, ignorable=True)
    error_code: int = field(Int16)
    topics: list[ResponseTopicSnapshot] = field(Array(ResponseTopicSnapshot))
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint), versions="1+", tag=0, tagged="1+")
