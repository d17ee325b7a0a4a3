"""RemoveAccessControlEntryRecord: an access control entry is deleted.

Record type 19 of the metadata log.

Mirrors RemoveAccessControlEntryRecord; KIP-801.
"""

from __future__ import annotations

from protocol_specs.fields import Uuid
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=19, versions="0", flexible="0+")
class RemoveAccessControlEntryRecord(Message):
    """The record: an access control entry is deleted."""

    id: bytes = field(Uuid)
