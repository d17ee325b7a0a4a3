"""LeaderChangeMessage: control record: a new leader of a quorum.

Mirrors LeaderChangeMessage; KIP-595, KIP-853.
"""

from __future__ import annotations

from protocol_specs.fields import Array, Int16, Int32, Uuid
from protocol_specs.message import Message, Struct, field, message, struct


@struct
class Voter(Struct):
    """One voter of the quorum."""

    voter_id: int = field(Int32)
    voter_directory_id: bytes = field(Uuid, versions="1+")


@message(versions="0-1", flexible="0+")
class LeaderChangeMessage(Message):
    """Control record: a new leader of a quorum."""

    version: int = field(Int16)
    leader_id: int = field(Int32, entity="brokerId")
    voters: list[Voter] = field(Array(Voter))
    granting_voters: list[Voter] = field(Array(Voter))
