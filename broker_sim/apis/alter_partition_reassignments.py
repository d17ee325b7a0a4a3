"""AlterPartitionReassignments (api key 45): other replicas for partitions (KIP-455), answered by the controller.

Versions: v1 (4.x) the replication factor may be held fast (KIP-860). Mirrors KafkaApis with
ControllerApis.handleAlterPartitionReassignments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.apis.forwarding import forward
from broker_sim.apis.kafka_apis import ApiHandler, register
from broker_sim.controller.partition_reassignments import refused_reassignments
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.error_codes import ErrorCode
    from protocol_specs.messages.alter_partition_reassignments import (
        AlterPartitionReassignmentsRequest,
        AlterPartitionReassignmentsResponse,
    )


def error_response(
    request: AlterPartitionReassignmentsRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> AlterPartitionReassignmentsResponse:
    """The whole request fails: every partition has the error, and the answer too."""
    return refused_reassignments(request, error_code)


register(ApiHandler(api_key=ApiKey.ALTER_PARTITION_REASSIGNMENTS, handle=forward, error_response=error_response))
