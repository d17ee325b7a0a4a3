"""SaslAuthenticate (api key 36) outside of an authentication: refused. Mirrors KafkaApis.handleSaslAuthenticateRequest.

A SASL listener serves this API itself, in `broker_sim.network.sasl_processor`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext

__all__ = ["handle"]

_REFUSED: Final = "SaslAuthenticate request received after successful authentication"


def handle(request: SaslAuthenticateRequest, context: RequestContext) -> HandlerResult:  # noqa: ARG001
    """Return ILLEGAL_SASL_STATE; the text is the same without any authentication, as with Kafka."""
    return SaslAuthenticateResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message=_REFUSED, auth_bytes=b"")


HANDLER: Final = ApiHandler(handle=handle)
