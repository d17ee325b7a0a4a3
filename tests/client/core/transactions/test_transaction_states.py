"""The table of the producer's identity: every pair is either in it or refused by name."""

from __future__ import annotations

from itertools import product

import pytest

from broker_client.core.transactions.transaction_states import TRANSACTION_STATES, TransactionEvent, TransactionState
from sim_runtime.state_table import IllegalTransition


@pytest.mark.parametrize(
    ("state", "event"), list(product(TransactionState, TransactionEvent)), ids=lambda value: value.name
)
def test_every_pair_leads_somewhere_or_is_refused(state: TransactionState, event: TransactionEvent) -> None:
    if TRANSACTION_STATES.allows(state, event):
        assert isinstance(TRANSACTION_STATES.next(state, event), TransactionState)
    else:
        with pytest.raises(IllegalTransition, match=event.name):
            TRANSACTION_STATES.next(state, event)


@pytest.mark.parametrize("state", TransactionState)
def test_every_state_can_end_fatally(state: TransactionState) -> None:
    assert TRANSACTION_STATES.next(state, TransactionEvent.FATAL) is TransactionState.FATAL_ERROR
