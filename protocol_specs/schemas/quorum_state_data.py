"""QuorumStateData: a file with the vote of a node of a quorum.

Mirrors FileQuorumStateStore; KIP-595, KIP-853.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int32, Int64, String, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class Voter(Struct):
    """One voter of the quorum."""

    voter_id: int = field(Int32, versions="0")


@message(versions="0-1", flexible="0+")
class QuorumStateData(Message):
    """A file with the vote of a node of a quorum."""

    cluster_id: str = field(String, versions="0")
    leader_id: int = field(Int32, default=-1)
    leader_epoch: int = field(Int32, default=-1)
    voted_id: int = field(Int32, default=-1)
    voted_directory_id: bytes = field(Uuid, versions="1+")
    applied_offset: int = field(Int64, versions="0")
    current_voters: list[Voter] | None = field(Array(Voter), versions="0", nullable="0")
