"""RemoteLogSegmentMetadataSnapshotRecord: a log segment in remote storage, as a snapshot keeps it.

Record type 3 of __remote_log_metadata.

Mirrors RemoteLogSegmentMetadataSnapshotRecord; KIP-405.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Bool, Bytes, Int8, Int32, Int64, Uuid
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@struct
class SegmentLeaderEpochEntry(Struct):
    """A leader epoch in the segment with its start offset."""

    leader_epoch: int = field(Int32)
    offset: int = field(Int64)


@message(kind=Kind.METADATA, record_type=3, versions="0", flexible="0+")
class RemoteLogSegmentMetadataSnapshotRecord(Message):
    """The record: a log segment in remote storage, as a snapshot keeps it."""

    segment_id: bytes = field(Uuid)
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
