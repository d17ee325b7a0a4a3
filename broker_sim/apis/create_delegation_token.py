"""CreateDelegationToken (api key 38): a token of the client, or of another user (KIP-48).

Versions: v2 is flexible. v3 creates tokens of other users (KIP-373). Mirrors KafkaApis.handleCreateTokenRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.forwarding import forward
from broker_sim.apis.token_requests import Creation, creation_of, creation_refusal, refused_creation
from broker_sim.config.authorizer_settings import ANONYMOUS
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.create_delegation_token import (
        CreateDelegationTokenRequest,
        CreateDelegationTokenResponse,
    )


def handle(request: CreateDelegationTokenRequest, context: RequestContext) -> HandlerResult:
    """Forward a request that the client may send; a broker in ZooKeeper mode serves it itself."""
    creation = creation_of(request, context)
    if creation is None:
        return error_response(request, context, ErrorCode.UNKNOWN_SERVER_ERROR)
    refusal = creation_refusal(creation, context)
    if not refusal and not creation.names_users:
        refusal = ErrorCode.INVALID_PRINCIPAL_TYPE
    return refused_creation(creation, refusal, context) if refusal else forward(request, context)


def error_response(
    request: CreateDelegationTokenRequest,  # noqa: ARG001 - the response has none of its principals
    context: RequestContext,
    error_code: ErrorCode,
) -> CreateDelegationTokenResponse:
    """Mirrors CreateDelegationTokenRequest.getErrorResponse."""
    return refused_creation(Creation(ANONYMOUS, ANONYMOUS, ()), error_code, context)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
