"""GroupMetadata: a classic group: generation, leader and members.

Record type 2 of __consumer_offsets.

Mirrors GroupMetadataKey and GroupMetadataValue; KIP-211, KIP-345.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Bytes, Int32, Int64, String
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@message(kind=Kind.COORDINATOR_KEY, record_type=2, versions="0")
class GroupMetadataKey(Message):
    """The key: a classic group: generation, leader and members."""

    group: str = field(String)


@struct
class MemberMetadata(Struct):
    """One member with its subscription and assignment."""

    member_id: str = field(String)
    group_instance_id: str | None = field(String, versions="3+", nullable="3+", default=None, ignorable=True)
    client_id: str = field(String)
    client_host: str = field(String)
    rebalance_timeout: int = field(Int32, versions="1+", default=-1, ignorable=True)
    session_timeout: int = field(Int32)
    subscription: bytes = field(Bytes)
    assignment: bytes = field(Bytes)


@message(kind=Kind.COORDINATOR_VALUE, record_type=2, versions="0-4", flexible="4+")
class GroupMetadataValue(Message):
    """The value: a classic group: generation, leader and members."""

    protocol_type: str = field(String)
    generation: int = field(Int32)
    protocol: str | None = field(String, nullable="0+")
    leader: str | None = field(String, nullable="0+")
    current_state_timestamp: int = field(Int64, versions="2+", default=-1, ignorable=True)
    members: list[MemberMetadata] = field(Array(MemberMetadata))
