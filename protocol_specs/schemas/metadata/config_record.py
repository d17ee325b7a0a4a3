"""ConfigRecord: a configuration is set or deleted.

Record type 4 of the metadata log.

Mirrors ConfigRecord; KIP-631.
"""

from __future__ import annotations

from protocol_specs.fields import Int8, String
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=4, versions="0", flexible="0+")
class ConfigRecord(Message):
    """The record: a configuration is set or deleted."""

    resource_type: int = field(Int8)
    resource_name: str = field(String)
    name: str = field(String)
    value: str | None = field(String, nullable="0+")
