"""The tables of a voter's states: every pair of state and event."""

from __future__ import annotations

import pytest

from broker_sim.quorum.epoch_states import PRE_VOTE_TABLE, TABLE, EpochState, QuorumEvent
from sim_runtime.state_table import IllegalTransition

S, E = EpochState, QuorumEvent
COLUMNS = (E.HIGHER_EPOCH, E.LEADER_OF_HIGHER_EPOCH, E.LEADER, E.VOTE, E.TIME_OUT, E.MAJORITY, E.RESIGNATION)
EXPECTED = {
    S.UNATTACHED: (S.UNATTACHED, S.FOLLOWER, S.FOLLOWER, S.VOTED, S.PROSPECTIVE, None, None),
    S.VOTED: (S.UNATTACHED, S.FOLLOWER, S.FOLLOWER, None, S.PROSPECTIVE, None, None),
    S.FOLLOWER: (S.UNATTACHED, S.FOLLOWER, None, None, S.PROSPECTIVE, None, None),
    S.PROSPECTIVE: (S.UNATTACHED, S.FOLLOWER, S.FOLLOWER, S.PROSPECTIVE, None, S.CANDIDATE, None),
    S.CANDIDATE: (S.UNATTACHED, S.FOLLOWER, S.FOLLOWER, None, S.PROSPECTIVE, S.LEADER, None),
    S.LEADER: (S.UNATTACHED, S.FOLLOWER, None, None, None, None, S.RESIGNED),
    S.RESIGNED: (S.UNATTACHED, S.FOLLOWER, None, None, S.UNATTACHED, None, None),
}
REFUSALS = {
    E.REFUSED: S.UNATTACHED,
    E.REFUSED_HAVING_VOTED: S.VOTED,
    E.REFUSED_KNOWING_LEADER: S.FOLLOWER,
}


def expected(state: EpochState, event: QuorumEvent) -> EpochState | None:
    if event in REFUSALS:
        return REFUSALS[event] if state is S.PROSPECTIVE else None
    return EXPECTED[state][COLUMNS.index(event)]


def expected_without_pre_votes(state: EpochState, event: QuorumEvent) -> EpochState | None:
    if state is S.PROSPECTIVE:
        return None
    if event is E.TIME_OUT:
        return None if state is S.LEADER else S.CANDIDATE
    return expected(state, event)


@pytest.mark.parametrize("state", EpochState)
@pytest.mark.parametrize("event", QuorumEvent)
@pytest.mark.parametrize(("table", "claim"), [(PRE_VOTE_TABLE, expected), (TABLE, expected_without_pre_votes)])
def test_every_pair_of_state_and_event(table, claim, event, state) -> None:
    target = claim(state, event)
    if target is None:
        with pytest.raises(IllegalTransition):
            table.next(state, event)
    else:
        assert table.next(state, event) is target
