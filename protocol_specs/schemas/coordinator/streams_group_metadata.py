"""StreamsGroupMetadata: the epoch of a streams group.

Record type 17 of __consumer_offsets.

Mirrors StreamsGroupMetadataKey and StreamsGroupMetadataValue; KIP-1071.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int32, Int64, String
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@message(kind=Kind.COORDINATOR_KEY, record_type=17, versions="0")
class StreamsGroupMetadataKey(Message):
    """The key: the epoch of a streams group."""

    group_id: str = field(String)


@struct
class LastAssignmentConfig(Struct):
    """One assignment configuration that the last assignment used."""

    key: str = field(String)
    value: str = field(String)


@message(kind=Kind.COORDINATOR_VALUE, record_type=17, versions="0", flexible="0+")
class StreamsGroupMetadataValue(Message):
    """The value: the epoch of a streams group."""

    epoch: int = field(Int32)
    metadata_hash: int = field(Int64)
    validated_topology_epoch: int = field(Int32, tag=0, tagged="0+", default=-1)
    last_assignment_configs: list[LastAssignmentConfig] | None = field(
        Array(LastAssignmentConfig), nullable="0+", tag=1, tagged="0+"
    )
