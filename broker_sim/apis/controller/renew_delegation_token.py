"""RenewDelegationToken (api key 39) at a controller (KIP-900). Mirrors
ControllerApis.handleRenewDelegationTokenRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.token_requests import decide_about_token
from broker_sim.apis.token_requests import allows_token_requests, refused_expiry
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.renew_delegation_token import RenewDelegationTokenRequest


def handle(request: RenewDelegationTokenRequest, context: RequestContext) -> HandlerResult:
    """Decide, and respond after the commit."""
    if not allows_token_requests(context):
        return refused_expiry(context, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    return decide_about_token(request, context)


HANDLER: Final = ApiHandler(handle=handle)
