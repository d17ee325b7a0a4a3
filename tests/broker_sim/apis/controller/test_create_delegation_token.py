"""CreateDelegationToken at a controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from protocol_specs.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from tests.broker_sim.apis.controller.token_calls import at_controller

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

GROUP = CreateDelegationTokenRequest(
    owner_principal_type="User",
    owner_principal_name="bob",
    renewers=[CreatableRenewers(principal_type="Group", principal_name="g")],
    max_lifetime_ms=-1,
)


@pytest.mark.parametrize(
    ("config", "by_token", "expected"),
    [
        ({}, True, (64, -1)),
        ({}, False, (61, 0)),
        ({"delegation.token.secret.key": "secret"}, False, (67, 0)),
    ],
)
def test_refusals(
    bench: Callable[..., ApiBench], config: dict[str, str], *, by_token: bool, expected: tuple[int, int]
) -> None:
    assert at_controller(bench(config=config), GROUP, 3, by_token=by_token) == expected
