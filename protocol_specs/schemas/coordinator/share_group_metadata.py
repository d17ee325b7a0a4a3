"""ShareGroupMetadata: the epoch of a share group.

Record type 11 of __consumer_offsets.

Mirrors ShareGroupMetadataKey and ShareGroupMetadataValue; KIP-932.
"""

from __future__ import annotations

from protocol_specs.fields import Int32, Int64, String
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.COORDINATOR_KEY, record_type=11, versions="0")
class ShareGroupMetadataKey(Message):
    """The key: the epoch of a share group."""

    group_id: str = field(String)


@message(kind=Kind.COORDINATOR_VALUE, record_type=11, versions="0", flexible="0+")
class ShareGroupMetadataValue(Message):
    """The value: the epoch of a share group."""

    epoch: int = field(Int32)
    metadata_hash: int = field(Int64)
