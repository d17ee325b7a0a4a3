"""CreatePartitions (api key 37) at a controller (KIP-195). Mirrors ControllerApis.createPartitions.

Versions: v2 flexible. v3 a controller mutation quota may refuse (KIP-599).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import decide_with_quota
from broker_sim.controller.create_partitions import refused_creation

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.error_codes import ErrorCode
    from protocol_specs.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse


def handle(request: CreatePartitionsRequest, context: RequestContext) -> HandlerResult:
    """Decide, and respond after the commit."""
    return decide_with_quota(context, lambda controls, quota: controls.partitions.create(request, quota))


def error_response(
    request: CreatePartitionsRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> CreatePartitionsResponse:
    """The whole request fails: every topic has the error."""
    return refused_creation(request, error_code)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
