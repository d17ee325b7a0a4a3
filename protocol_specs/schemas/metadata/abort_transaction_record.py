"""AbortTransactionRecord: what was written since the last BeginTransactionRecord does not count.

Record type 25 of the metadata log.

Mirrors AbortTransactionRecord; KIP-868.
"""

from __future__ import annotations

from protocol_specs.fields import String
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=25, versions="0", flexible="0+")
class AbortTransactionRecord(Message):
    """The record: what was written since the last BeginTransactionRecord does not count."""

    reason: str | None = field(String, nullable="0+", tag=0, tagged="0+", default=None)
