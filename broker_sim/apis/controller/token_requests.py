"""The decision that CreateDelegationToken, RenewDelegationToken and ExpireDelegationToken share at a controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_sim.apis.controller.active_controller import decide
from broker_sim.apis.token_requests import allows_token_requests, refused_expiry, serve_token_request
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext

__all__ = ["decide_about_expiry", "decide_about_token"]

NO_TIME_MS: Final = 0
"""The times of a response without a token."""


def decide_about_token(request: Any, context: RequestContext) -> HandlerResult:
    """Decide, and respond after the commit.

    Raises:
        NotActive: Another controller decides.
    """
    return decide(
        context, lambda controls: serve_token_request(controls.tokens, request, context, no_time_ms=NO_TIME_MS)
    )


def decide_about_expiry(request: Any, context: RequestContext) -> HandlerResult:
    """Handle RenewDelegationToken and ExpireDelegationToken: refuse, or decide and respond after the commit.

    Raises:
        NotActive: Another controller decides.
    """
    if not allows_token_requests(context):
        return refused_expiry(context, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    return decide_about_token(request, context)
