"""OffsetCommit: a committed offset.

Record type 1 of __consumer_offsets.

Mirrors OffsetCommitKey and OffsetCommitValue; KIP-211, KIP-320.
"""

from __future__ import annotations

from protocol_specs.fields import Int32, Int64, String, Uuid
from protocol_specs.message import Kind, Message, field, message


@message(kind=Kind.COORDINATOR_KEY, record_type=1, versions="0")
class OffsetCommitKey(Message):
    """The key: a committed offset."""

    group: str = field(String)
    topic: str = field(String)
    partition: int = field(Int32)


@message(kind=Kind.COORDINATOR_VALUE, record_type=1, versions="0-4", flexible="4+")
class OffsetCommitValue(Message):
    """The value: a committed offset."""

    offset: int = field(Int64)
    leader_epoch: int = field(Int32, versions="3+", default=-1, ignorable=True)
    metadata: str = field(String)
    commit_timestamp: int = field(Int64)
    expire_timestamp: int = field(Int64, versions="1", default=-1, ignorable=True)
    topic_id: bytes = field(Uuid, versions="4+", tag=0, tagged="4+", ignorable=True)
