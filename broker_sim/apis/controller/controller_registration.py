"""ControllerRegistration (api key 70) at a controller (KIP-919). Mirrors
ControllerApis.handleControllerRegistration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import decide
from broker_sim.controller.not_controller import PLAIN_TEXT
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.controller_registration import ControllerRegistrationResponse

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.controller_registration import ControllerRegistrationRequest


def handle(request: ControllerRegistrationRequest, context: RequestContext) -> HandlerResult:
    """Decide, and respond after the commit."""
    return decide(context, lambda controls: controls.cluster.register_controller(request))


def error_response(
    request: ControllerRegistrationRequest,  # noqa: ARG001 - nothing of it is returned
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> ControllerRegistrationResponse:
    """The error, with its own text where another controller is active."""
    text = PLAIN_TEXT if error_code is ErrorCode.NOT_CONTROLLER else ""
    return ControllerRegistrationResponse(error_code=error_code, error_message=text)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
