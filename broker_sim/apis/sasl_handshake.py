"""SaslHandshake (api key 17) outside of an authentication: refused. Mirrors KafkaApis.handleSaslHandshakeRequest.

A SASL listener serves this API itself, in `broker_sim.network.sasl_processor`. Here it arrives at a listener without
SASL, or on an authenticated connection that may not authenticate itself again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext

__all__ = ["handle"]


def handle(request: SaslHandshakeRequest, context: RequestContext) -> HandlerResult:  # noqa: ARG001
    """Return ILLEGAL_SASL_STATE without mechanisms."""
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=[])


HANDLER: Final = ApiHandler(handle=handle)
