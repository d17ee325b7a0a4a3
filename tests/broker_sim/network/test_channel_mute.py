from __future__ import annotations

import itertools

import pytest

from broker_sim.network.channel_mute import TABLE, TRANSITIONS, MuteEvent, MuteState
from sim_runtime.state_table import IllegalTransition

ALLOWED = {
    MuteState.NOT_MUTED: {MuteEvent.MUTE},
    MuteState.MUTED: {MuteEvent.REQUEST_RECEIVED, MuteEvent.UNMUTE},
    MuteState.MUTED_AND_RESPONSE_PENDING: {MuteEvent.RESPONSE_SENT, MuteEvent.THROTTLE_STARTED},
    MuteState.MUTED_AND_THROTTLED: {MuteEvent.THROTTLE_ENDED},
    MuteState.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING: {MuteEvent.RESPONSE_SENT, MuteEvent.THROTTLE_ENDED},
}


@pytest.mark.parametrize(("state", "event"), list(itertools.product(MuteState, MuteEvent)))
def test_each_pair_is_in_the_table_or_illegal(state: MuteState, event: MuteEvent) -> None:
    if event in ALLOWED[state]:
        assert TABLE.next(state, event) is TRANSITIONS[state, event]
    else:
        with pytest.raises(IllegalTransition, match=state.name):
            TABLE.next(state, event)


def test_only_plain_muted_is_unmuted() -> None:
    assert [state for state in MuteState if TABLE.allows(state, MuteEvent.UNMUTE)] == [MuteState.MUTED]


@pytest.mark.parametrize("first", [MuteEvent.RESPONSE_SENT, MuteEvent.THROTTLE_ENDED])
def test_a_throttled_request_ends_after_both_the_response_and_the_delay(first: MuteEvent) -> None:
    second = MuteEvent.THROTTLE_ENDED if first is MuteEvent.RESPONSE_SENT else MuteEvent.RESPONSE_SENT
    state = MuteState.NOT_MUTED
    for event in (MuteEvent.MUTE, MuteEvent.REQUEST_RECEIVED, MuteEvent.THROTTLE_STARTED, first):
        state = TABLE.next(state, event)
    assert state is not MuteState.MUTED
    assert TABLE.next(state, second) is MuteState.MUTED
