"""The table of a client's telemetry: every pair is either in it or refused by name."""

from __future__ import annotations

from itertools import product

import pytest

from broker_client.core.telemetry.telemetry_states import (
    TELEMETRY_STATES,
    TERMINATING,
    TelemetryEvent,
    TelemetryState,
)
from sim_runtime.state_table import IllegalTransition


@pytest.mark.parametrize(
    ("state", "event"), list(product(TelemetryState, TelemetryEvent)), ids=lambda value: value.name
)
def test_every_pair_leads_somewhere_or_is_refused(state: TelemetryState, event: TelemetryEvent) -> None:
    if TELEMETRY_STATES.allows(state, event):
        assert isinstance(TELEMETRY_STATES.next(state, event), TelemetryState)
    else:
        with pytest.raises(IllegalTransition, match=event.name):
            TELEMETRY_STATES.next(state, event)


@pytest.mark.parametrize("state", TelemetryState)
def test_every_state_but_the_last_can_end(state: TelemetryState) -> None:
    assert TELEMETRY_STATES.allows(state, TelemetryEvent.CLOSED) == (state is not TelemetryState.TERMINATED)


@pytest.mark.parametrize("state", TERMINATING)
def test_nothing_leads_back_from_the_end(state: TelemetryState) -> None:
    assert all(TELEMETRY_STATES.next(state, event) in TERMINATING for event in TELEMETRY_STATES.allowed(state))
