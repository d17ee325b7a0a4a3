"""SnapshotHeaderRecord: control record: the beginning of a snapshot.

Mirrors SnapshotHeaderRecord; KIP-630.
"""

from __future__ import annotations

from protocol_specs.fields import Int16, Int64
from protocol_specs.message import Message, field, message


@message(versions="0", flexible="0+")
class SnapshotHeaderRecord(Message):
    """Control record: the beginning of a snapshot."""

    version: int = field(Int16)
    last_contained_log_timestamp: int = field(Int64)
