"""KRaftVersionRecord: control record: the kraft.version of a quorum.

Mirrors KRaftVersionRecord; KIP-853.
"""

from __future__ import annotations

from protocol_specs.fields import Int16
from protocol_specs.message import Message, field, message


@message(versions="0", flexible="0+")
class KRaftVersionRecord(Message):
    """Control record: the kraft.version of a quorum."""

    version: int = field(Int16)
    k_raft_version: int = field(Int16)
