"""NoOpRecord: no content; the record lets the high watermark advance.

Record type 20 of the metadata log.

Mirrors NoOpRecord; KIP-835.
"""

from __future__ import annotations

from protocol_specs.message import Kind, Message, message


@message(kind=Kind.METADATA, record_type=20, versions="0", flexible="0+")
class NoOpRecord(Message):
    """The record: no content; the record lets the high watermark advance."""
