"""AccessControlEntryRecord: an access control entry.

Record type 18 of the metadata log.

Mirrors AccessControlEntryRecord; KIP-801.
"""

from __future__ import annotations

from protocol_specs.fields import Int8, String, Uuid
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=18, versions="0", flexible="0+")
class AccessControlEntryRecord(Message):
    """The record: an access control entry."""

    id: bytes = field(Uuid)
    resource_type: int = field(Int8)
    resource_name: str = field(String)
    pattern_type: int = field(Int8)
    principal: str = field(String)
    host: str = field(String)
    operation: int = field(Int8)
    permission_type: int = field(Int8)
