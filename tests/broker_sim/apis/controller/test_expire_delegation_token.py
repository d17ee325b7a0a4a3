"""ExpireDelegationToken at a controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.expire_delegation_token import ExpireDelegationTokenRequest
from tests.broker_sim.apis.controller.token_calls import at_controller

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench


REQUEST = ExpireDelegationTokenRequest(hmac=b"x", expiry_time_period_ms=1)


def test_a_token_may_not_change_tokens(bench: Callable[..., ApiBench]) -> None:
    api = bench()
    assert at_controller(api, REQUEST, 2, by_token=True) == (64, -1)
    assert at_controller(api, REQUEST, 2) == (61, 0)
