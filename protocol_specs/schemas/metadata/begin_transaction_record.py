"""BeginTransactionRecord: the records from here to the end of the metadata transaction belong together.

Record type 23 of the metadata log.

Mirrors BeginTransactionRecord; KIP-868.
"""

from __future__ import annotations

from protocol_specs.fields import String
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=23, versions="0", flexible="0+")
class BeginTransactionRecord(Message):
    """The record: the records from here to the end of the metadata transaction belong together."""

    name: str | None = field(String, nullable="0+", tag=0, tagged="0+", default=None)
