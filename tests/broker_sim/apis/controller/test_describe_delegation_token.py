"""DescribeDelegationToken at a controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.describe_delegation_token import DescribeDelegationTokenRequest
from tests.broker_sim.apis.controller.token_calls import at_controller

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench


def test_a_controller_describes_no_tokens(bench: Callable[..., ApiBench]) -> None:
    assert at_controller(bench(), DescribeDelegationTokenRequest(owners=[]), 3) == (-1, 0)
