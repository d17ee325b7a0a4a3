"""ExpireDelegationToken through a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.create_delegation_token import CreateDelegationTokenRequest
from protocol_specs.messages.expire_delegation_token import ExpireDelegationTokenRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

SECRET = {"delegation.token.secret.key": "secret"}
ANN, BOB = "User:ann", "User:bob"
CREATE = CreateDelegationTokenRequest(
    owner_principal_type=None, owner_principal_name=None, renewers=[], max_lifetime_ms=-1
)


def test_a_token_that_expires_at_once_is_removed_at_every_broker(bench: Callable[..., ApiBench]) -> None:
    api = bench(brokers=2, config=SECRET)
    created = api.call_as(ANN, CREATE, 3)
    request = ExpireDelegationTokenRequest(hmac=created.hmac, expiry_time_period_ms=-1)
    codes = [api.call_as(who, request, 2, broker_id=2).error_code for who in (BOB, ANN, ANN)]
    assert codes == [63, 0, 62]
    api.settle()
    assert [broker.metadata_cache.image.tokens for broker in api.cluster.brokers.values()] == [{}, {}]
