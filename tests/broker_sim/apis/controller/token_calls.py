"""Requests about delegation tokens as a controller gets them from a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.rpc.plain_call import PlainCalls

if TYPE_CHECKING:
    from tests.broker_sim.apis.conftest import ApiBench


def at_controller(api: ApiBench, request: Any, version: int, *, by_token: bool = False) -> tuple[int, int]:
    """Error code and expiry time in the response to a request that a broker forwards for `User:ann`."""
    calls = PlainCalls(api.cluster.controller_server(1))
    context = calls.context(request, version)
    connection = context.connection
    connection.principal, connection.is_forwarded, connection.token_authenticated = "User:ann", True, by_token
    response: Any = api.reactor.run_until(calls.serve(context), deadline_ms=60_000)
    return response.error_code, getattr(response, "expiry_timestamp_ms", 0)
