"""ControlledShutdown (api key 7) at a controller: listed by releases before 4.0, and always an error.

ControllerApis has no case for it; brokers stop by their heartbeats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.controlled_shutdown import ControlledShutdownResponse

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.controlled_shutdown import ControlledShutdownRequest


def handle(request: ControlledShutdownRequest, context: RequestContext) -> ControlledShutdownResponse:  # noqa: ARG001
    """Return the error: no broker stops by this API."""
    return ControlledShutdownResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)


HANDLER: Final = ApiHandler(handle=handle)
