"""SnapshotFooterRecord: control record: the end of a snapshot.

Mirrors SnapshotFooterRecord; KIP-630.
"""

from __future__ import annotations

from protocol_specs.fields import Int16
from protocol_specs.message import Message, field, message


@message(versions="0", flexible="0+")
class SnapshotFooterRecord(Message):
    """Control record: the end of a snapshot."""

    version: int = field(Int16)
