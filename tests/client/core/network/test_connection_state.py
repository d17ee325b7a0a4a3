"""The table of connection states: every pair is either in it or refused by name."""

from __future__ import annotations

from itertools import product

import pytest

from broker_client.core.network.connection_state import CONNECTION_STATES, ConnectionEvent, ConnectionState
from sim_runtime.state_table import IllegalTransition

PAIRS = list(product(ConnectionState, ConnectionEvent))


@pytest.mark.parametrize(("state", "event"), PAIRS, ids=lambda value: value.name)
def test_every_pair_leads_somewhere_or_is_refused(state: ConnectionState, event: ConnectionEvent) -> None:
    if CONNECTION_STATES.allows(state, event):
        assert isinstance(CONNECTION_STATES.next(state, event), ConnectionState)
    else:
        with pytest.raises(IllegalTransition, match=event.name):
            CONNECTION_STATES.next(state, event)


@pytest.mark.parametrize("state", ConnectionState)
def test_a_connection_can_be_lost_in_every_state(state: ConnectionState) -> None:
    lost = CONNECTION_STATES.next(state, ConnectionEvent.CONNECTION_LOST)
    assert lost in (ConnectionState.DISCONNECTED, ConnectionState.AUTHENTICATION_FAILED)


@pytest.mark.parametrize("state", [one for one in ConnectionState if one is not ConnectionState.CONNECTING])
def test_every_state_is_reached_from_connecting(state: ConnectionState) -> None:
    reached = {ConnectionState.CONNECTING}
    for _ in ConnectionState:
        for (source, _event), target in CONNECTION_STATES.transitions.items():
            if source in reached:
                reached.add(target)
    assert state in reached
