"""DescribeDelegationToken: which tokens a client sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from protocol_specs.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

SECRET = {"delegation.token.secret.key": "secret"}
ANN, BOB = "User:ann", "User:bob"
CAROL = "User:carol"
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": f"{CAROL};User:ANONYMOUS",
}


def described(api: ApiBench, principal: str, *owners: str) -> list[str]:
    """The owners of the tokens that a client sees: of `owners`, or of all."""
    named = [DescribeDelegationTokenOwner(principal_type="User", principal_name=each) for each in owners]
    response = api.call_as(principal, DescribeDelegationTokenRequest(owners=named or None), 3)
    assert response.error_code == 0
    return sorted(each.principal_name for each in response.tokens)


def create(api: ApiBench, owner: str, renewer: str) -> None:
    request = CreateDelegationTokenRequest(
        owner_principal_type="User",
        owner_principal_name=owner,
        renewers=[CreatableRenewers(principal_type="User", principal_name=renewer)],
        max_lifetime_ms=-1,
    )
    assert api.call_as(CAROL, request, 3).error_code == 0
    api.settle()


def test_a_client_sees_its_own_tokens_and_those_that_it_may_renew(bench: Callable[..., ApiBench]) -> None:
    api = bench(config=SECRET | AUTHORIZER)
    create(api, "ann", "bob")
    create(api, "dave", "erin")
    assert described(api, CAROL) == ["ann", "dave"]
    assert described(api, ANN) == described(api, BOB) == described(api, BOB, "bob") == ["ann"]
    assert described(api, ANN, "dave") == described(api, "User:frank") == []
    empty = api.call_as(ANN, DescribeDelegationTokenRequest(owners=[]), 3)
    assert (empty.error_code, empty.tokens) == (0, [])


def test_tokens_need_a_login_and_a_secret(bench: Callable[..., ApiBench]) -> None:
    api = bench()
    request = DescribeDelegationTokenRequest(owners=None)
    assert (api.call(request, 3).error_code, api.call_as(ANN, request, 3).error_code) == (64, 61)
