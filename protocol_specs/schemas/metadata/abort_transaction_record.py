"""AbortTransactionRecord: the records since the last BeginTransactionRecord are discarded.

Record type 25 of the metadata log.

Mirrors AbortTransactionRecord; KIP-868.
"""

from __future__ import annotations

from protocol_specs.fields import String
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.METADATA, record_type=25, versions="0", flexible="0+")
class AbortTransactionRecord(Message):
    """The record: the records since the last BeginTransactionRecord are discarded."""

    reason: str | None = field(String, nullable="0+", tag=0, tagged="0+", default=None)
