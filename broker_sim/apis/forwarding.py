"""Requests that a broker forwards to the controller (KIP-590). Mirrors ForwardingManager."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.links.node_links import LinkFailure
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from broker_sim.apis.handler_result import NoResponse
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.api_key import ApiKey
    from protocol_specs.message import Message

__all__ = ["forward", "forwarding_handler"]


def forward(request: Any, context: RequestContext) -> Deferred[Message | NoResponse]:
    """Forward; return REQUEST_TIMED_OUT for the whole request if no controller is reached in time."""
    broker = context.broker
    response: Deferred[Message | NoResponse] = broker.forward_to_controller(
        request, timeout_ms=broker.config.request_timeout_ms, context=context
    )

    def unreachable(failure: Failure) -> Message | NoResponse:
        failure.trap(LinkFailure)
        return broker.apis.error_response(context, ErrorCode.REQUEST_TIMED_OUT)

    return response.addErrback(unreachable)


def forwarding_handler(api_key: ApiKey) -> ApiHandler:
    """Return the broker's handler of an API that only the controller serves; its errors are the controller's."""
    from broker_sim.apis.controller.controller_apis import HANDLERS

    return ApiHandler(handle=forward, error_response=HANDLERS.handler_of(api_key).error_response)
