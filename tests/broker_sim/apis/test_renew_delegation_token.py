"""RenewDelegationToken through a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.create_delegation_token import CreateDelegationTokenRequest
from protocol_specs.messages.renew_delegation_token import RenewDelegationTokenRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

SECRET = {"delegation.token.secret.key": "secret"}
ANN, BOB = "User:ann", "User:bob"
CREATE = CreateDelegationTokenRequest(
    owner_principal_type=None, owner_principal_name=None, renewers=[], max_lifetime_ms=-1
)


def test_the_new_time_reaches_every_broker(bench: Callable[..., ApiBench]) -> None:
    api = bench(brokers=2, config=SECRET)
    created = api.call_as(ANN, CREATE, 3)
    request = RenewDelegationTokenRequest(hmac=created.hmac, renew_period_ms=5000)
    assert api.call_as(BOB, request, 2).error_code == 63
    response = api.call_as(ANN, request, 2, broker_id=2)
    assert response.error_code == 0
    assert response.expiry_timestamp_ms < created.expiry_timestamp_ms
    api.settle()
    for broker in api.cluster.brokers.values():
        assert broker.metadata_cache.image.tokens[created.token_id].expires_ms == response.expiry_timestamp_ms
