"""DescribeQuorum (api key 55) at a controller (KIP-595). Mirrors KafkaRaftClient.handleDescribeQuorumRequest.

The leader of the quorum describes it; any controller knows the partition, and one that does not lead returns an error
for the partition. Versions: v1 times of voters and observers (KIP-836). v2 (4.x) directory ids, error messages, the
nodes' listeners (KIP-853).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.controller.active_controller import controller_view
from broker_sim.coordinators.default_messages import default_message
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_quorum import DescribeQuorumResponse, ResponsePartitionData, ResponseTopicData
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from protocol_specs.messages.describe_quorum import DescribeQuorumRequest

METADATA_TOPIC: Final = "__cluster_metadata"
NODES_SINCE: Final = 2
NOT_LEADER: Final = (
    "For requests intended only for the leader, this error indicates that the broker is not the current leader. "
    "For requests intended for any replica, this error indicates that the broker is not a replica of the topic "
    "partition."
)


def handle(request: DescribeQuorumRequest, context: RequestContext) -> DescribeQuorumResponse:
    """Describe the quorum, without the fields that the version does not have."""
    node = controller_view(context).node
    wanted = [(topic.topic_name, each.partition_index) for topic in request.topics for each in topic.partitions]
    if not node.is_active and wanted == [(METADATA_TOPIC, 0)]:
        partition = ResponsePartitionData(partition_index=0, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if context.api_version >= NODES_SINCE:
            partition.error_message = NOT_LEADER
        return DescribeQuorumResponse(topics=[ResponseTopicData(topic_name=METADATA_TOPIC, partitions=[partition])])
    response = node.controller.controls.quorum.describe(request)
    if context.api_version < NODES_SINCE:
        response.nodes = []
        for partition in [each for topic in response.topics for each in topic.partitions]:
            for replica in (*partition.current_voters, *partition.observers):
                replica.replica_directory_id = ZERO_UUID
    return response


def error_response(
    request: DescribeQuorumRequest,  # noqa: ARG001 - the error alone
    context: RequestContext,
    error_code: ErrorCode,
) -> DescribeQuorumResponse:
    """Return the error at the top; since v2 a refused client gets a text. Mirrors getTopLevelErrorResponse."""
    response = DescribeQuorumResponse(error_code=error_code)
    if error_code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED and context.api_version >= NODES_SINCE:
        response.error_message = default_message(error_code)
    return response


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
