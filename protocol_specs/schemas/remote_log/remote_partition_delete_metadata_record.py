"""RemotePartitionDeleteMetadataRecord: the remote log of a partition is being deleted.

Record type 2 of __remote_log_metadata.

Mirrors RemotePartitionDeleteMetadataRecord; KIP-405.
"""

from __future__ import annotations

from protocol_specs.fields import Int8, Int32, Int64, String, Uuid
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@struct
class TopicIdPartitionEntry(Struct):
    """A partition with its topic id."""

    name: str = field(String)
    id: bytes = field(Uuid)
    partition: int = field(Int32)


@message(kind=Kind.METADATA, record_type=2, versions="0", flexible="0+")
class RemotePartitionDeleteMetadataRecord(Message):
    """The record: the remote log of a partition is being deleted."""

    topic_id_partition: TopicIdPartitionEntry = field(TopicIdPartitionEntry)
    broker_id: int = field(Int32)
    event_timestamp_ms: int = field(Int64)
    remote_partition_delete_state: int = field(Int8)
