"""Requests that the controller answers and a broker passes on (KIP-590). Mirrors ForwardingManager."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.replication.broker_links import LinkFailure
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from broker_sim.apis.request_context import NoAnswer, RequestContext
    from protocol_specs.message import Message

__all__ = ["forward"]


def forward(request: Any, context: RequestContext) -> Deferred[Message | NoAnswer]:
    """Let the controller answer; one that cannot be reached in time is REQUEST_TIMED_OUT for the whole request."""
    broker = context.broker
    answer: Deferred[Message | NoAnswer] = broker.forward_to_controller(
        request, timeout_ms=broker.config.request_timeout_ms, context=context
    )

    def unreachable(failure: Failure) -> Message | NoAnswer:
        failure.trap(LinkFailure)
        return broker.apis.error_response(request, context, ErrorCode.REQUEST_TIMED_OUT)

    return answer.addErrback(unreachable)
