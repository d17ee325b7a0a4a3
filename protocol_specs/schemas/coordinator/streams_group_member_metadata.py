"""StreamsGroupMemberMetadata: the metadata that a member of a streams group has sent.

Record type 19 of __consumer_offsets.

Mirrors StreamsGroupMemberMetadataKey and StreamsGroupMemberMetadataValue; KIP-1071.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int32, String, Uint16
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@message(kind=Kind.COORDINATOR_KEY, record_type=19, versions="0")
class StreamsGroupMemberMetadataKey(Message):
    """The key: the metadata that a member of a streams group has sent."""

    group_id: str = field(String)
    member_id: str = field(String)


@struct
class Endpoint(Struct):
    """The address for interactive queries (`application.server`)."""

    host: str = field(String)
    port: int = field(Uint16)


@struct
class KeyValue(Struct):
    """One client tag of the member."""

    key: str = field(String)
    value: str = field(String)


@message(kind=Kind.COORDINATOR_VALUE, record_type=19, versions="0", flexible="0+")
class StreamsGroupMemberMetadataValue(Message):
    """The value: the metadata that a member of a streams group has sent."""

    instance_id: str | None = field(String, nullable="0+")
    rack_id: str | None = field(String, nullable="0+")
    client_id: str = field(String)
    client_host: str = field(String)
    rebalance_timeout_ms: int = field(Int32, default=-1)
    topology_epoch: int = field(Int32)
    process_id: str = field(String)
    user_endpoint: Endpoint | None = field(Endpoint, nullable="0+", default=None)
    client_tags: list[KeyValue] = field(Array(KeyValue))
