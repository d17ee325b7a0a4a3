"""The decisions about delegation tokens at a controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.create_delegation_token import CreateDelegationTokenRequest
from protocol_specs.messages.expire_delegation_token import ExpireDelegationTokenRequest
from protocol_specs.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.broker_sim.apis.controller.token_calls import at_controller

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench


def test_each_request_has_its_decision(bench: Callable[..., ApiBench]) -> None:
    api = bench(config={"delegation.token.secret.key": "secret", "delegation.token.expiry.time.ms": "1000"})
    created = CreateDelegationTokenRequest(
        owner_principal_type=None, owner_principal_name=None, renewers=[], max_lifetime_ms=-1
    )
    begun_ms = api.cluster.controller.now_ms()
    error_code, expires_ms = at_controller(api, created, 3)
    assert (error_code, 0 <= expires_ms - begun_ms - 1000 < 100) == (0, True)
    (token,) = api.cluster.controller.image.tokens.values()
    digest = api.cluster.controller.controls.tokens.hmac_of(token)
    assert at_controller(api, RenewDelegationTokenRequest(hmac=digest, renew_period_ms=-1), 2)[0] == 0
    assert at_controller(api, ExpireDelegationTokenRequest(hmac=digest, expiry_time_period_ms=-1), 2)[0] == 0
    assert at_controller(api, RenewDelegationTokenRequest(hmac=digest, renew_period_ms=-1), 2) == (62, 0)
