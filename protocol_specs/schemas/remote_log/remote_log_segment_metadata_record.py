"""RemoteLogSegmentMetadataRecord: a log segment is being copied to remote storage.

Record type 0 of __remote_log_metadata.

Mirrors RemoteLogSegmentMetadataRecord; KIP-405.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Bool, Bytes, Int8, Int32, Int64, String, Uuid
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@struct
class TopicIdPartitionEntry(Struct):
    """A partition with its topic id."""

    name: str = field(String)
    id: bytes = field(Uuid)
    partition: int = field(Int32)


@struct
class RemoteLogSegmentIdEntry(Struct):
    """The id of a remote log segment."""

    topic_id_partition: TopicIdPartitionEntry = field(TopicIdPartitionEntry)
    id: bytes = field(Uuid)


@struct
class SegmentLeaderEpochEntry(Struct):
    """A leader epoch in the segment with its start offset."""

    leader_epoch: int = field(Int32)
    offset: int = field(Int64)


@message(kind=Kind.METADATA, record_type=0, versions="0", flexible="0+")
class RemoteLogSegmentMetadataRecord(Message):
    """The record: a log segment is being copied to remote storage."""

    remote_log_segment_id: RemoteLogSegmentIdEntry = field(RemoteLogSegmentIdEntry)
    start_offset: int = field(Int64)
    end_offset: int = field(Int64)
    broker_id: int = field(Int32)
    max_timestamp_ms: int = field(Int64)
    event_timestamp_ms: int = field(Int64)
    segment_leader_epochs: list[SegmentLeaderEpochEntry] = field(Array(SegmentLeaderEpochEntry))
    segment_size_in_bytes: int = field(Int32)
    custom_metadata: bytes | None = field(Bytes, nullable="0+", default=None)
    remote_log_segment_state: int = field(Int8)
    txn_index_empty: bool = field(Bool, tag=0, tagged="0+")
