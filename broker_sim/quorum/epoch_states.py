"""The state of a voter of the metadata quorum in its epoch, as a table. Mirrors EpochState's kinds and QuorumState.

- UNATTACHED: knows no leader of its epoch; waits for one, or for a candidate, until its election time-out.
- VOTED: as UNATTACHED, with its one vote of this epoch given away.
- FOLLOWER: fetches from the leader of its epoch; the time-out is that of its last successful fetch.
- PROSPECTIVE (4.x, KIP-996): requests pre-votes before it raises the epoch for all. It stays in its epoch, and returns
  to its former state when a majority rejects it.
- CANDIDATE: has raised the epoch and voted for itself.
- LEADER: a majority has voted for it; it resigns when a majority no longer fetches.
- RESIGNED: was the leader of this epoch, as it also is after a restart; notifies the voters and waits for its time-out.

A higher epoch is obeyed in every state. The table does not express which votes may be granted
(`QuorumState.grants_vote`), nor that a LEADER or RESIGNED voter never learns of another leader of its own epoch.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from sim_runtime.state_table import StateTable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PRE_VOTE_TABLE", "TABLE", "EpochState", "QuorumEvent"]


class EpochState(Enum):
    """The state of a voter in its epoch."""

    UNATTACHED = auto()
    VOTED = auto()
    FOLLOWER = auto()
    PROSPECTIVE = auto()
    CANDIDATE = auto()
    LEADER = auto()
    RESIGNED = auto()


class QuorumEvent(Enum):
    """An event that changes a voter's state."""

    HIGHER_EPOCH = auto()
    """A message has a higher epoch, and names no leader of it."""
    LEADER_OF_HIGHER_EPOCH = auto()
    """A message names the leader of a higher epoch."""
    LEADER = auto()
    """A message names the leader of this epoch, which was not known."""
    VOTE = auto()
    """A candidate of this epoch gets the vote."""
    TIME_OUT = auto()
    """The election time-out is over, a follower's fetch time-out, or a candidate's back-off."""
    MAJORITY = auto()
    """A majority has granted its votes, or pre-votes."""
    REFUSED = auto()
    """Too few pre-votes, and no leader is known."""
    REFUSED_HAVING_VOTED = auto()
    """Too few pre-votes, no leader is known, and the vote of this epoch is given away."""
    REFUSED_KNOWING_LEADER = auto()
    """Too few pre-votes, and the epoch has a leader."""
    RESIGNATION = auto()
    """The leader gives up."""


_S, _E = EpochState, QuorumEvent
_ALL: Final = {
    **{(state, _E.HIGHER_EPOCH): _S.UNATTACHED for state in _S},
    **{(state, _E.LEADER_OF_HIGHER_EPOCH): _S.FOLLOWER for state in _S},
    (_S.UNATTACHED, _E.LEADER): _S.FOLLOWER,
    (_S.VOTED, _E.LEADER): _S.FOLLOWER,
    (_S.CANDIDATE, _E.LEADER): _S.FOLLOWER,
    (_S.UNATTACHED, _E.VOTE): _S.VOTED,
    (_S.CANDIDATE, _E.MAJORITY): _S.LEADER,
    (_S.LEADER, _E.RESIGNATION): _S.RESIGNED,
}
TRANSITIONS: Final[Mapping[tuple[EpochState, QuorumEvent], EpochState]] = {
    **{pair: state for pair, state in _ALL.items() if pair[0] is not _S.PROSPECTIVE},
    (_S.UNATTACHED, _E.TIME_OUT): _S.CANDIDATE,
    (_S.VOTED, _E.TIME_OUT): _S.CANDIDATE,
    (_S.FOLLOWER, _E.TIME_OUT): _S.CANDIDATE,
    (_S.CANDIDATE, _E.TIME_OUT): _S.CANDIDATE,
    (_S.RESIGNED, _E.TIME_OUT): _S.CANDIDATE,
}
PRE_VOTE_TRANSITIONS: Final[Mapping[tuple[EpochState, QuorumEvent], EpochState]] = {
    **_ALL,
    (_S.PROSPECTIVE, _E.LEADER): _S.FOLLOWER,
    (_S.PROSPECTIVE, _E.VOTE): _S.PROSPECTIVE,
    (_S.PROSPECTIVE, _E.MAJORITY): _S.CANDIDATE,
    (_S.PROSPECTIVE, _E.REFUSED): _S.UNATTACHED,
    (_S.PROSPECTIVE, _E.REFUSED_HAVING_VOTED): _S.VOTED,
    (_S.PROSPECTIVE, _E.REFUSED_KNOWING_LEADER): _S.FOLLOWER,
    (_S.UNATTACHED, _E.TIME_OUT): _S.PROSPECTIVE,
    (_S.VOTED, _E.TIME_OUT): _S.PROSPECTIVE,
    (_S.FOLLOWER, _E.TIME_OUT): _S.PROSPECTIVE,
    (_S.CANDIDATE, _E.TIME_OUT): _S.PROSPECTIVE,
    (_S.RESIGNED, _E.TIME_OUT): _S.UNATTACHED,
}

TABLE: Final = StateTable("QuorumState", TRANSITIONS)
PRE_VOTE_TABLE: Final = StateTable("QuorumState with pre-votes", PRE_VOTE_TRANSITIONS)
