"""The states of the exchange."""

from __future__ import annotations

import pytest

from broker_client.core.network.sasl.sasl_state import SASL_STATES, SaslEvent, SaslState
from sim_runtime.state_table import IllegalTransition


@pytest.mark.parametrize("state", [SaslState.COMPLETE, SaslState.FAILED])
@pytest.mark.parametrize("event", SaslEvent)
def test_an_exchange_ends_once(state: SaslState, event: SaslEvent) -> None:
    with pytest.raises(IllegalTransition):
        SASL_STATES.next(state, event)
