"""AlterPartitionReassignments (api key 45) at a controller (KIP-455). Mirrors ReplicationControlManager."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import decide
from broker_sim.controller.partition_reassignments import refused_reassignments

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.error_codes import ErrorCode
    from protocol_specs.messages.alter_partition_reassignments import (
        AlterPartitionReassignmentsRequest,
        AlterPartitionReassignmentsResponse,
    )


def handle(request: AlterPartitionReassignmentsRequest, context: RequestContext) -> HandlerResult:
    """Decide, and respond after the commit."""
    return decide(context, lambda controls: controls.partitions.reassign(request))


def error_response(
    request: AlterPartitionReassignmentsRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> AlterPartitionReassignmentsResponse:
    """Return the response when the whole request fails: every partition has the error, and the top level too."""
    return refused_reassignments(request, error_code)


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
