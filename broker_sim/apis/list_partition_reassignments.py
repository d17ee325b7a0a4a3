"""ListPartitionReassignments (api key 46): the reassignments that go on (KIP-455), answered by the controller.

One version. Mirrors KafkaApis with ControllerApis.handleListPartitionReassignments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.apis.forwarding import forward
from broker_sim.apis.kafka_apis import ApiHandler, register
from protocol_specs.api_key import ApiKey
from protocol_specs.messages.list_partition_reassignments import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.error_codes import ErrorCode
    from protocol_specs.messages.list_partition_reassignments import ListPartitionReassignmentsRequest


def error_response(
    request: ListPartitionReassignmentsRequest,
    context: RequestContext,  # noqa: ARG001 - there is one version
    error_code: ErrorCode,
) -> ListPartitionReassignmentsResponse:
    """The whole request fails: what was asked for is there, with nothing in it."""
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


register(ApiHandler(api_key=ApiKey.LIST_PARTITION_REASSIGNMENTS, handle=forward, error_response=error_response))
