"""ConsumerGroupMetadata: the epoch of a consumer group.

Record type 3 of __consumer_offsets.

Mirrors ConsumerGroupMetadataKey and ConsumerGroupMetadataValue; KIP-848.
"""

from __future__ import annotations

from protocol_specs.fields import Int32, Int64, String
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.COORDINATOR_KEY, record_type=3, versions="0")
class ConsumerGroupMetadataKey(Message):
    """The key: the epoch of a consumer group."""

    group_id: str = field(String)


@message(kind=Kind.COORDINATOR_VALUE, record_type=3, versions="0", flexible="0+")
class ConsumerGroupMetadataValue(Message):
    """The value: the epoch of a consumer group."""

    epoch: int = field(Int32)
    metadata_hash: int = field(Int64, tag=0, tagged="0+")
