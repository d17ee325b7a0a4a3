"""DescribeUserScramCredentials at a controller: always an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.apis.controller.controller_apis import HANDLERS
from broker_sim.apis.handler_result import NoResponse
from protocol_specs.api_key import ApiKey
from protocol_specs.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench


def test_a_controller_describes_no_user(bench: Callable[..., ApiBench]) -> None:
    handle = HANDLERS.handler_of(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS).handle
    request = DescribeUserScramCredentialsRequest(users=[UserName(name="a")])
    context = bench().context(request, 0)
    response: Any = handle(request, context)
    assert [response.error_code, *((each.user, each.error_code) for each in response.results)] == [-1, ("", -1)]
    assert handle(DescribeUserScramCredentialsRequest(users=None), context) is NoResponse.STAY_MUTED
