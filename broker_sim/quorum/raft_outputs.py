"""The outputs of a voter, in order: messages to send, and notifications of its owner. Mirrors RaftRequest,
RaftResponse and RaftClient.Listener.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from broker_sim.quorum.raft_log import RaftBatch, RaftSnapshot
    from protocol_specs.message import Message

__all__ = ["Committed", "LeaderChanged", "Output", "SendRequest", "SendResponse", "SnapshotLoaded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SendRequest:
    """A request to another voter; its response, or the lack of one, has the same correlation id."""

    destination: int
    correlation_id: int
    request: Message
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SendResponse:
    """The response to the request of `destination` with this correlation id."""

    destination: int
    correlation_id: int
    response: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """Batches that a majority has: from the first of the log on after every start, each once."""

    batches: list[RaftBatch]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotLoaded:
    """The log was replaced with a snapshot of the leader; commits continue after it."""

    snapshot: RaftSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderChanged:
    """Another epoch, or another leader of it; -1 while there is none.

    The local voter is named only when all records before its epoch are committed here.
    """

    epoch: int
    leader_id: int


Output: TypeAlias = SendRequest | SendResponse | Committed | SnapshotLoaded | LeaderChanged
