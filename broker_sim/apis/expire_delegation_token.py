"""ExpireDelegationToken (api key 40): end the life of a token (KIP-48).

Mirrors KafkaApis.handleExpireTokenRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.forwarding import forward
from broker_sim.apis.token_requests import allows_token_requests, refused_expiry
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.expire_delegation_token import ExpireDelegationTokenRequest


def handle(request: ExpireDelegationTokenRequest, context: RequestContext) -> HandlerResult:
    """Forward, unless the client may send no requests about tokens; a broker in ZooKeeper mode serves it itself."""
    if not allows_token_requests(context):
        return refused_expiry(context, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    return forward(request, context)


HANDLER: Final = ApiHandler(handle=handle)
