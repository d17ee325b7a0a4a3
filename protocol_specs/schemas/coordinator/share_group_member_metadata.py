"""ShareGroupMemberMetadata: the metadata that a member of a share group has sent.

Record type 10 of __consumer_offsets.

Mirrors ShareGroupMemberMetadataKey and ShareGroupMemberMetadataValue; KIP-932.
"""

from __future__ import annotations

from protocol_specs.fields import Array, String
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.COORDINATOR_KEY, record_type=10, versions="0")
class ShareGroupMemberMetadataKey(Message):
    """The key: the metadata that a member of a share group has sent."""

    group_id: str = field(String)
    member_id: str = field(String)


@message(kind=Kind.COORDINATOR_VALUE, record_type=10, versions="0", flexible="0+")
class ShareGroupMemberMetadataValue(Message):
    """The value: the metadata that a member of a share group has sent."""

    rack_id: str | None = field(String, nullable="0+")
    client_id: str = field(String)
    client_host: str = field(String)
    subscribed_topic_names: list[str] = field(Array(String))
