"""CreateDelegationToken through a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

SECRET = {"delegation.token.secret.key": "secret"}
ANN, BOB = "User:ann", "User:bob"
CREATE = CreateDelegationTokenRequest(
    owner_principal_type=None, owner_principal_name=None, renewers=[], max_lifetime_ms=-1
)


def test_a_token_reaches_every_broker(bench: Callable[..., ApiBench]) -> None:
    api = bench(brokers=3, config=SECRET)
    response = api.call_as(ANN, CREATE, 3, broker_id=2)
    assert (response.error_code, response.principal_name, len(response.hmac)) == (0, "ann", 64)
    api.settle()
    images = [broker.metadata_cache.image for broker in api.cluster.brokers.values()]
    assert [image.tokens[response.token_id].owner for image in images] == [ANN] * 3


def test_a_broker_refuses_before_it_forwards(bench: Callable[..., ApiBench]) -> None:
    api = bench(config=SECRET)
    group = CreateDelegationTokenRequest(
        owner_principal_type=None,
        owner_principal_name=None,
        renewers=[CreatableRenewers(principal_type="Group", principal_name="g")],
        max_lifetime_ms=-1,
    )
    codes = [
        api.call(CREATE, 3).error_code,
        api.call_as(ANN, CREATE, 3, by_token=True).error_code,
        api.call_as(ANN, group, 3).error_code,
    ]
    assert codes == [64, 64, 67]
    api.settle()
    assert not api.cluster.controller.image.tokens


def test_a_request_that_fails_as_a_whole_names_anonymous(bench: Callable[..., ApiBench]) -> None:
    api = bench()
    unnamed = CreateDelegationTokenRequest(
        owner_principal_type=None, owner_principal_name="ann", renewers=[], max_lifetime_ms=-1
    )
    response = api.call_as(ANN, unnamed, 3)
    assert (response.error_code, response.principal_name) == (ErrorCode.UNKNOWN_SERVER_ERROR, "ANONYMOUS")
