from __future__ import annotations

from enum import Enum, auto

import pytest

from sim_runtime.state_table import IllegalTransition, StateTable


class State(Enum):
    CONNECTING = auto()
    READY = auto()
    CLOSED = auto()


class Event(Enum):
    CONNECTED = auto()
    LOST = auto()


TABLE = StateTable(
    "connection",
    {
        (State.CONNECTING, Event.CONNECTED): State.READY,
        (State.CONNECTING, Event.LOST): State.CLOSED,
        (State.READY, Event.LOST): State.CLOSED,
    },
)


@pytest.mark.parametrize("event", Event)
@pytest.mark.parametrize("state", State)
def test_every_pair_is_either_in_the_table_or_illegal(state, event):
    if TABLE.allows(state, event):
        assert TABLE.next(state, event) is TABLE.transitions[state, event]
    else:
        with pytest.raises(IllegalTransition):
            TABLE.next(state, event)


def test_an_illegal_event_is_named_with_those_that_are_allowed():
    with pytest.raises(IllegalTransition) as caught:
        TABLE.next(State.READY, Event.CONNECTED)
    assert str(caught.value) == "connection in state READY does not take CONNECTED; it takes LOST"
    assert TABLE.allowed(State.CONNECTING) == (Event.CONNECTED, Event.LOST)
    with pytest.raises(IllegalTransition, match="it takes no event"):
        TABLE.next(State.CLOSED, Event.LOST)


def test_the_error_carries_its_values():
    error = IllegalTransition("m", State.READY, Event.LOST, ())
    assert (error.machine, error.state, error.event, error.allowed) == ("m", State.READY, Event.LOST, ())


def test_a_table_cannot_be_changed():
    with pytest.raises(TypeError):
        TABLE.transitions[State.CLOSED, Event.LOST] = State.READY
