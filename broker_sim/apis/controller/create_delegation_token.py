"""CreateDelegationToken (api key 38) at a controller (KIP-900). Mirrors
ControllerApis.handleCreateDelegationTokenRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.token_requests import decide_about_token
from broker_sim.apis.create_delegation_token import error_response
from broker_sim.apis.token_requests import creation_of, creation_refusal, refused_creation
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.create_delegation_token import CreateDelegationTokenRequest


def handle(request: CreateDelegationTokenRequest, context: RequestContext) -> HandlerResult:
    """Decide, and respond after the commit."""
    creation = creation_of(request, context)
    if creation is None:
        return error_response(request, context, ErrorCode.UNKNOWN_SERVER_ERROR)
    refusal = creation_refusal(creation, context)
    return refused_creation(creation, refusal, context) if refusal else decide_about_token(request, context)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
