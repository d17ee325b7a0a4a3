from __future__ import annotations

import itertools

import pytest

from broker_sim.broker_state import TABLE, TRANSITIONS, BrokerEvent, BrokerState
from sim_runtime.state_table import IllegalTransition

RUNS = frozenset({BrokerEvent.SHUTDOWN_REQUESTED, BrokerEvent.STOPPED})
ALLOWED = {
    BrokerState.NOT_RUNNING: {BrokerEvent.STARTED, BrokerEvent.JOINED},
    BrokerState.STARTING: RUNS | {BrokerEvent.CAUGHT_UP, BrokerEvent.UNFENCED},
    BrokerState.RECOVERY: RUNS | {BrokerEvent.UNFENCED},
    BrokerState.RUNNING: RUNS | {BrokerEvent.UNFENCED},
    BrokerState.PENDING_CONTROLLED_SHUTDOWN: {BrokerEvent.SHUTDOWN_APPROVED, BrokerEvent.STOPPED},
    BrokerState.SHUTTING_DOWN: {BrokerEvent.STOPPED},
}


@pytest.mark.parametrize(("state", "event"), list(itertools.product(BrokerState, BrokerEvent)))
def test_each_pair_is_in_the_table_or_illegal(state: BrokerState, event: BrokerEvent) -> None:
    if event in ALLOWED[state]:
        assert TABLE.next(state, event) is TRANSITIONS[state, event]
    else:
        with pytest.raises(IllegalTransition, match=state.name):
            TABLE.next(state, event)


def test_a_start_passes_through_the_states_of_kafka() -> None:
    states = [BrokerState.NOT_RUNNING]
    for event in (
        BrokerEvent.STARTED,
        BrokerEvent.CAUGHT_UP,
        BrokerEvent.UNFENCED,
        BrokerEvent.SHUTDOWN_REQUESTED,
        BrokerEvent.SHUTDOWN_APPROVED,
        BrokerEvent.STOPPED,
    ):
        states.append(TABLE.next(states[-1], event))
    assert states == [*BrokerState, BrokerState.NOT_RUNNING]
