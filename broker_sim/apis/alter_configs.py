"""AlterConfigs (api key 33): replace all configurations of resources; those not named are removed (KIP-133).

Versions: v2 is flexible. The broker checks changes of brokers, the controller decides the rest (KIP-590). The same
resource twice gets no response: Kafka's handler fails. Loggers cannot be changed this way. Mirrors
KafkaApis.handleAlterConfigsRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.config_changes import resource_key, settle_changes
from broker_sim.apis.handler_result import NoResponse
from broker_sim.config.api_error import ApiError
from protocol_specs.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.error_codes import ErrorCode


def handle(request: AlterConfigsRequest, context: RequestContext) -> HandlerResult:
    """Return one result per resource."""
    groups = context.behaviour.describes_groups
    keys = [resource_key(each.resource_type, each.resource_name, groups=groups) for each in request.resources]
    if len(dict.fromkeys(keys)) < len(keys):
        return NoResponse.STAY_MUTED
    return settle_changes(request, context, make_response=lambda errors: _response(request, errors))


def error_response(
    request: AlterConfigsRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> AlterConfigsResponse:
    """The whole request fails: every resource has the error. Mirrors AlterConfigsRequest.getErrorResponse."""
    return _response(request, [ApiError(error_code)] * len(request.resources))


def _response(request: AlterConfigsRequest, errors: Sequence[ApiError]) -> AlterConfigsResponse:
    return AlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                error_code=error.code,
                error_message=error.message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource, error in zip(request.resources, errors, strict=True)
        ]
    )


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
