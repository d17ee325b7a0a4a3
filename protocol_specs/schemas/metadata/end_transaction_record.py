"""EndTransactionRecord: the end of a metadata transaction.

Record type 24 of the metadata log.

Mirrors EndTransactionRecord; KIP-868.
"""

from __future__ import annotations

from protocol_specs.message import Kind, Message, message


@message(kind=Kind.METADATA, record_type=24, versions="0", flexible="0+")
class EndTransactionRecord(Message):
    """The record: the end of a metadata transaction."""
