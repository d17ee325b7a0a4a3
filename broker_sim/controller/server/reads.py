"""DescribeQuorum (api key 55), ListPartitionReassignments (46) and DeleteTopics (20) at a controller: what any of them
answers, active or not.

A controller that does not lead the quorum says so of the partition; the reassignments are those of its own image, and
it knows which topics there are not.
Mirrors KafkaRaftClient.handleDescribeQuorumRequest and QuorumController.listPartitionReassignments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from broker_sim.apis.delete_topics import error_response as deletion_error_response
from broker_sim.apis.delete_topics import handle_delete_topics
from broker_sim.apis.describe_quorum import handle_describe_quorum
from broker_sim.apis.kafka_apis import ApiHandler
from broker_sim.apis.list_partition_reassignments import error_response
from broker_sim.controller.server.controller_node_view import CLIENT
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_quorum import DescribeQuorumResponse, ResponsePartitionData, ResponseTopicData

if TYPE_CHECKING:
    from broker_sim.apis.request_context import HandlerResult, RequestContext
    from broker_sim.controller.server.controller_server import ControllerServer
    from protocol_specs.messages.delete_topics import DeleteTopicsRequest
    from protocol_specs.messages.describe_quorum import DescribeQuorumRequest
    from protocol_specs.messages.list_partition_reassignments import ListPartitionReassignmentsRequest

METADATA_TOPIC: Final = "__cluster_metadata"
MESSAGES_SINCE: Final = 2
NOT_LEADER: Final = (
    "For requests intended only for the leader, this error indicates that the broker is not the current leader. "
    "For requests intended for any replica, this error indicates that the broker is not a replica of the topic "
    "partition."
)


def describe_quorum(request: DescribeQuorumRequest, context: RequestContext) -> HandlerResult:
    """The leader describes; any controller knows which partition there is."""
    server = cast("ControllerServer", context.broker)
    asked = [(topic.topic_name, each.partition_index) for topic in request.topics for each in topic.partitions]
    if server.node.is_active or asked != [(METADATA_TOPIC, 0)]:
        if server.node.is_active:
            return handle_describe_quorum(request, context)
        return server.node.controller.forwarded[type(request)](request, CLIENT)  # type: ignore[no-any-return]
    partition = ResponsePartitionData(partition_index=0, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if context.api_version >= MESSAGES_SINCE:
        partition.error_message = NOT_LEADER
    return DescribeQuorumResponse(topics=[ResponseTopicData(topic_name=METADATA_TOPIC, partitions=[partition])])


def list_reassignments(request: ListPartitionReassignmentsRequest, context: RequestContext) -> Any:
    """From this node's own image."""
    server = cast("ControllerServer", context.broker)
    return server.node.controller.forwarded[type(request)](request, CLIENT)


def delete_topics(request: DeleteTopicsRequest, context: RequestContext) -> HandlerResult:
    """The active controller deletes; where nothing is there to be deleted, any can say so."""
    server = cast("ControllerServer", context.broker)
    image = server.image
    names = [*request.topic_names, *(topic.name for topic in request.topics if topic.name is not None)]
    ids = [topic.topic_id for topic in request.topics if topic.name is None]
    if (
        server.node.is_active
        or not server.config.delete_topic_enable
        or any(name in image.topics for name in names)
        or any(topic_id in image.topics_by_id for topic_id in ids)
    ):
        return handle_delete_topics(request, context)
    return server.node.controller.forwarded[type(request)](request, CLIENT)  # type: ignore[no-any-return]


HANDLERS: Final = (
    ApiHandler(api_key=ApiKey.DELETE_TOPICS, handle=delete_topics, error_response=deletion_error_response),
    ApiHandler(api_key=ApiKey.DESCRIBE_QUORUM, handle=describe_quorum),
    ApiHandler(api_key=ApiKey.LIST_PARTITION_REASSIGNMENTS, handle=list_reassignments, error_response=error_response),
)
