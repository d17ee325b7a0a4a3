"""ConsumerGroupMemberMetadata: the metadata that a member of a consumer group has sent.

Record type 5 of __consumer_offsets.

Mirrors ConsumerGroupMemberMetadataKey and ConsumerGroupMemberMetadataValue; KIP-848.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Bytes, Int32, String
from protocol_specs.message import Kind, Message, Struct, field, message, struct


@message(kind=Kind.COORDINATOR_KEY, record_type=5, versions="0")
class ConsumerGroupMemberMetadataKey(Message):
    """The key: the metadata that a member of a consumer group has sent."""

    group_id: str = field(String)
    member_id: str = field(String)


@struct
class ClassicProtocol(Struct):
    """A protocol of the classic group, with its metadata."""

    name: str = field(String)
    metadata: bytes = field(Bytes)


@struct
class ClassicMemberMetadata(Struct):
    """The data of a member that uses the classic protocol in a consumer group."""

    session_timeout_ms: int = field(Int32)
    supported_protocols: list[ClassicProtocol] = field(Array(ClassicProtocol))


@message(kind=Kind.COORDINATOR_VALUE, record_type=5, versions="0", flexible="0+")
class ConsumerGroupMemberMetadataValue(Message):
    """The value: the metadata that a member of a consumer group has sent."""

    instance_id: str | None = field(String, nullable="0+")
    rack_id: str | None = field(String, nullable="0+")
    client_id: str = field(String)
    client_host: str = field(String)
    subscribed_topic_names: list[str] = field(Array(String))
    subscribed_topic_regex: str | None = field(String, nullable="0+")
    rebalance_timeout_ms: int = field(Int32, default=-1)
    server_assignor: str | None = field(String, nullable="0+")
    classic_member_metadata: ClassicMemberMetadata | None = field(
        ClassicMemberMetadata, nullable="0+", tag=0, tagged="0+"
    )
