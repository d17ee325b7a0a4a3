"""ListPartitionReassignments (api key 46) at a controller (KIP-455): the reassignments of its own image, active or not.
Mirrors QuorumController.listPartitionReassignments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import controller_view
from protocol_specs.messages.list_partition_reassignments import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.error_codes import ErrorCode
    from protocol_specs.messages.list_partition_reassignments import ListPartitionReassignmentsRequest


def handle(request: ListPartitionReassignmentsRequest, context: RequestContext) -> ListPartitionReassignmentsResponse:
    """List the reassignments in progress."""
    return controller_view(context).node.controller.controls.partitions.list_reassignments(request)


def error_response(
    request: ListPartitionReassignmentsRequest,
    context: RequestContext,  # noqa: ARG001 - there is one version
    error_code: ErrorCode,
) -> ListPartitionReassignmentsResponse:
    """The whole request fails: the requested partitions are listed, with nothing in them."""
    return ListPartitionReassignmentsResponse(
        error_code=error_code,
        error_message=None,
        topics=[
            OngoingTopicReassignment(
                name=topic.name,
                partitions=[OngoingPartitionReassignment(partition_index=index) for index in topic.partition_indexes],
            )
            for topic in request.topics or ()
        ],
    )


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
