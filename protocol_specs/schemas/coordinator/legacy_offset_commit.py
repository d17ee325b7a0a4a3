"""LegacyOffsetCommit: a committed offset in the oldest format.

Record type 0 of __consumer_offsets.

Mirrors LegacyOffsetCommitKey and LegacyOffsetCommitValue; KAFKA-1012.
"""

from __future__ import annotations

from protocol_specs.fields import Int32, Int64, String
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.COORDINATOR_KEY, record_type=0, versions="0")
class LegacyOffsetCommitKey(Message):
    """The key: a committed offset in the oldest format."""

    group: str = field(String)
    topic: str = field(String)
    partition: int = field(Int32)


@message(kind=Kind.COORDINATOR_VALUE, record_type=0, versions="0")
class LegacyOffsetCommitValue(Message):
    """The value: a committed offset in the oldest format."""

    offset: int = field(Int64)
    metadata: str = field(String)
    commit_timestamp: int = field(Int64)
