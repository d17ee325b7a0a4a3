"""ElectLeaders (api key 43) at a controller (KIP-183, KIP-460). Mirrors ReplicationControlManager.electLeaders.

Versions: v0 preferred leaders only, no top-level error. v1 unclean elections.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import decide
from broker_sim.controller.elect_leaders import refused_elections
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.controller.controls import ControllerControls
    from protocol_specs.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse

TOP_LEVEL_ERROR_SINCE: Final = 1


def handle(request: ElectLeadersRequest, context: RequestContext) -> HandlerResult:
    """Elect; the error of a whole request is left out where the version has no field for it."""

    def elect(controls: ControllerControls) -> ElectLeadersResponse:
        response = controls.partitions.elect(request)
        if context.api_version < TOP_LEVEL_ERROR_SINCE:
            response.error_code = ErrorCode.NONE
        return response

    return decide(context, elect)


def error_response(
    request: ElectLeadersRequest, context: RequestContext, error_code: ErrorCode
) -> ElectLeadersResponse:
    """Every partition has the error, and from v1 on the response too."""
    response = refused_elections(request, error_code)
    if context.api_version < TOP_LEVEL_ERROR_SINCE:
        response.error_code = ErrorCode.NONE
    return response


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
