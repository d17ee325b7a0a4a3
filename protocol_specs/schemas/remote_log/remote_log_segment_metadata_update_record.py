"""RemoteLogSegmentMetadataUpdateRecord: the state of a remote log segment changes.

Record type 1 of __remote_log_metadata.

Mirrors RemoteLogSegmentMetadataUpdateRecord; KIP-405.
"""

from __future__ import annotations

from protocol_specs.fields import Bytes, Int8, Int32, Int64, String, Uuid
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


@message(kind=Kind.METADATA, record_type=1, versions="0", flexible="0+")
class RemoteLogSegmentMetadataUpdateRecord(Message):
    """The record: the state of a remote log segment changes."""

    remote_log_segment_id: RemoteLogSegmentIdEntry = field(RemoteLogSegmentIdEntry)
    broker_id: int = field(Int32)
    event_timestamp_ms: int = field(Int64)
    custom_metadata: bytes | None = field(Bytes, nullable="0+", default=None)
    remote_log_segment_state: int = field(Int8)
