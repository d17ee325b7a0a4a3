"""IncrementalAlterConfigs (api key 44): set, delete, append to or subtract from single configurations (KIP-339).

Versions: v1 is flexible. The broker changes its loggers and checks changes of brokers; the controller decides the
rest (KIP-590). Mirrors KafkaApis.handleIncrementalAlterConfigsRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.config_changes import settle_changes
from broker_sim.config.api_error import ApiError
from protocol_specs.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.error_codes import ErrorCode


def handle(request: IncrementalAlterConfigsRequest, context: RequestContext) -> HandlerResult:
    """Return one result per resource."""
    return settle_changes(request, context, make_response=lambda errors: _response(request, errors))


def error_response(
    request: IncrementalAlterConfigsRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> IncrementalAlterConfigsResponse:
    """The whole request fails: every resource has the error."""
    return _response(request, [ApiError(error_code)] * len(request.resources))


def _response(request: IncrementalAlterConfigsRequest, errors: Sequence[ApiError]) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
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
