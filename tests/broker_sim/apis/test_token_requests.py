"""The checks that the APIs of delegation tokens share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.apis.token_requests import Creation, allows_token_requests, creation_of, refused_creation
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from protocol_specs.messages.expire_delegation_token import ExpireDelegationTokenRequest
from protocol_specs.messages.renew_delegation_token import RenewDelegationTokenRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

ANONYMOUS, ANN = "User:ANONYMOUS", "User:ann"


def request(**fields: Any) -> CreateDelegationTokenRequest:
    return CreateDelegationTokenRequest(**({"renewers": [], "max_lifetime_ms": -1} | fields))


@pytest.mark.parametrize(
    ("facts", "allowed"),
    [
        ({"security_protocol": "PLAINTEXT", "principal": ANONYMOUS}, False),
        ({"security_protocol": "PLAINTEXT", "principal": ANN}, False),
        ({"security_protocol": "PLAINTEXT", "principal": ANN, "is_forwarded": True}, True),
        ({"security_protocol": "SSL", "principal": ANONYMOUS}, False),
        ({"security_protocol": "SSL", "principal": "User:CN=ann"}, True),
        ({"security_protocol": "SASL_SSL", "principal": ANN}, True),
        ({"security_protocol": "SASL_PLAINTEXT", "principal": ANN, "token_authenticated": True}, False),
        ({"principal": ANN, "is_forwarded": True, "token_authenticated": True}, False),
    ],
)
def test_a_client_needs_an_identity_that_is_no_token(
    bench: Callable[..., ApiBench], facts: dict[str, Any], *, allowed: bool
) -> None:
    context = bench().context(request(), 3)
    for name, value in facts.items():
        setattr(context.connection, name, value)
    assert allows_token_requests(context) is allowed


def test_the_owner_is_the_requester_unless_it_is_named(bench: Callable[..., ApiBench]) -> None:
    context = bench().context(request(), 3)
    assert creation_of(request(), context) == Creation(ANONYMOUS, ANONYMOUS, ())
    named = request(
        owner_principal_type="Group",
        owner_principal_name="g",
        renewers=[CreatableRenewers(principal_type="User", principal_name="bob")],
    )
    assert creation_of(named, context) == Creation("Group:g", ANONYMOUS, ("User:bob",))
    assert creation_of(request(owner_principal_type=None, owner_principal_name="ann"), context) is None


@pytest.mark.parametrize(
    "change",
    [
        RenewDelegationTokenRequest(hmac=b"x", renew_period_ms=1),
        ExpireDelegationTokenRequest(hmac=b"x", expiry_time_period_ms=1),
    ],
    ids=lambda change: change.NAME,
)
def test_a_broker_refuses_a_change_by_a_client_without_a_login(bench: Callable[..., ApiBench], change: Any) -> None:
    response = bench().call(change, 2)
    assert (response.error_code, response.expiry_timestamp_ms) == (64, -1)


def test_older_versions_have_no_requester(bench: Callable[..., ApiBench]) -> None:
    api = bench()
    creation = Creation("User:ann", "User:root", ())
    for version, requester in ((2, ("", "")), (3, ("User", "root"))):
        context = api.context(request(), version)
        response = refused_creation(creation, ErrorCode.INVALID_PRINCIPAL_TYPE, context)
        assert (response.error_code, response.principal_name, response.max_timestamp_ms) == (67, "ann", -1)
        assert (response.token_requester_principal_type, response.token_requester_principal_name) == requester
