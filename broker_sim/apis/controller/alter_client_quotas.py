"""AlterClientQuotas (api key 49) at a controller (KIP-546). Mirrors ControllerApis.handleAlterClientQuotas.

Versions: v1 is flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import decide
from broker_sim.controller import client_quota_control

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.error_codes import ErrorCode
    from protocol_specs.messages.alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse


def handle(request: AlterClientQuotasRequest, context: RequestContext) -> HandlerResult:
    """Decide, and respond after the commit."""
    return decide(context, lambda controls: controls.client_quotas.alter(request))


def error_response(
    request: AlterClientQuotasRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> AlterClientQuotasResponse:
    """Every entry has the error. Mirrors AlterClientQuotasRequest.getErrorResponse."""
    return client_quota_control.error_response(request, error_code)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
