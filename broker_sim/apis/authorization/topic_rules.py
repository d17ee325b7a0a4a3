"""The rules of the APIs that name topics: offsets by time and epoch, Metadata and its kind, creation and deletion.

Mirrors the parts of KafkaApis and ControllerApis that call AuthHelper. A topic that the client may not describe is
refused before it is looked up: whether it exists stays hidden.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from broker_sim.apis.authorization.rule import changed, edited
from broker_sim.controller.topics import refused_topic
from broker_sim.coordinators.default_messages import default_message
from broker_sim.security.acl import CLUSTER_NAME, AclOperation, ResourceType
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order
from protocol_specs.messages.create_partitions import CreatePartitionsTopicResult
from protocol_specs.messages.delete_topics import DeletableTopicResult
from protocol_specs.messages.describe_topic_partitions import DescribeTopicPartitionsResponseTopic
from protocol_specs.messages.list_offsets import ListOffsetsPartitionResponse, ListOffsetsTopicResponse
from protocol_specs.messages.metadata import MetadataResponseTopic
from protocol_specs.messages.offset_for_leader_epoch import EpochEndOffset, OffsetForLeaderTopicResult
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from broker_sim.apis.authorization.rule import Handle
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.security.access import Access
    from protocol_specs.messages.create_partitions import CreatePartitionsRequest
    from protocol_specs.messages.create_topics import CreateTopicsRequest
    from protocol_specs.messages.delete_topics import DeleteTopicsRequest
    from protocol_specs.messages.describe_cluster import DescribeClusterRequest
    from protocol_specs.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
    from protocol_specs.messages.list_offsets import ListOffsetsRequest
    from protocol_specs.messages.metadata import MetadataRequest
    from protocol_specs.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest

DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
NOT_REQUESTED: Final = -(2**31)


def list_offsets(request: ListOffsetsRequest, context: RequestContext, access: Access, handle: Handle) -> HandlerResult:
    """ListOffsets: DESCRIBE on each topic; refused topics are at the end."""
    allowed = access.topics(AclOperation.DESCRIBE, (topic.name for topic in request.topics))
    refused = [topic for topic in request.topics if topic.name not in allowed]
    if not refused:
        return handle(request, context)

    def add(response: Any) -> None:
        response.topics += [
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(partition_index=each.partition_index, error_code=DENIED)
                    for each in topic.partitions
                ],
            )
            for topic in refused
        ]

    left = changed(request, topics=[topic for topic in request.topics if topic.name in allowed])
    return edited(handle(left, context), add)


def offset_for_leader_epoch(
    request: OffsetForLeaderEpochRequest, context: RequestContext, access: Access, handle: Handle
) -> HandlerResult:
    """OffsetForLeaderEpoch: CLUSTER_ACTION, or from 2.1 DESCRIBE on each topic; refused topics are at the end."""
    if access.cluster(AclOperation.CLUSTER_ACTION):
        return handle(request, context)
    if context.behaviour.epochs_are_for_brokers:
        return context.broker.apis.error_response(context, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    allowed = access.topics(AclOperation.DESCRIBE, (topic.topic for topic in request.topics))
    refused = [topic for topic in request.topics if topic.topic not in allowed]

    def add(response: Any) -> None:
        response.topics += [
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[EpochEndOffset(partition=each.partition, error_code=DENIED) for each in topic.partitions],
            )
            for topic in refused
        ]

    left = changed(request, topics=[topic for topic in request.topics if topic.topic in allowed])
    return edited(handle(left, context), add)


def metadata(request: MetadataRequest, context: RequestContext, access: Access, handle: Handle) -> HandlerResult:
    """Metadata: DESCRIBE on each topic, and CREATE on it or on the cluster where it would be created.

    A list of all topics leaves out the others. At the end are topics that the client may not create, then hidden ones.
    """
    if request.topics is None or (context.api_version == 0 and not request.topics):
        return edited(handle(request, context), lambda response: _only_describable(response, request, access))
    if any(topic.topic_id != ZERO_UUID for topic in request.topics):
        return _metadata_by_id(request, context, access, handle)
    names = list(dict.fromkeys(topic.name for topic in request.topics if topic.name is not None))
    described = access.topics(AclOperation.DESCRIBE, names)
    uncreatable = _uncreatable([name for name in names if name in described], request, context, access)
    hidden = [name for name in names if name not in described]
    if not (hidden or uncreatable):
        return edited(handle(request, context), lambda response: _show_operations(response, request, access))
    left = changed(
        request,
        topics=[topic for topic in request.topics if topic.name in described and topic.name not in uncreatable],
    )
    # An empty list means all topics in version 0: their descriptions are dropped.
    drops = context.api_version == 0 and not left.topics

    def add(response: Any) -> None:
        if drops:
            response.topics = []
        _show_operations(response, request, access)
        response.topics += [MetadataResponseTopic(error_code=DENIED, name=name) for name in [*uncreatable, *hidden]]

    return edited(handle(left, context), add)


def _uncreatable(names: list[str], request: MetadataRequest, context: RequestContext, access: Access) -> list[str]:
    """Return the topics that the request would create, and whose creation the client is denied."""
    if not (request.allow_auto_topic_creation and context.broker.config.auto_create_topics_enable):
        return []
    missing = [name for name in names if name not in context.broker.metadata_cache.image.topics]
    if not missing or access.cluster(AclOperation.CREATE):
        return []
    if context.behaviour.cluster_creates_topics:
        return missing
    creatable = access.topics(AclOperation.CREATE, missing)
    return [name for name in missing if name not in creatable]


def _metadata_by_id(request: MetadataRequest, context: RequestContext, access: Access, handle: Handle) -> HandlerResult:
    by_id = context.broker.metadata_cache.image.topics_by_id
    known = {topic.topic_id: by_id[topic.topic_id].name for topic in request.topics or () if topic.topic_id in by_id}
    described = access.topics(AclOperation.DESCRIBE, known.values())
    hidden = [topic_id for topic_id, name in known.items() if name not in described]
    left = changed(request, topics=[topic for topic in request.topics or () if topic.topic_id not in hidden])

    def add(response: Any) -> None:
        _show_operations(response, request, access)
        response.topics += [MetadataResponseTopic(error_code=DENIED, name=None, topic_id=each) for each in hidden]

    return edited(handle(left, context), add)


def _only_describable(response: Any, request: MetadataRequest, access: Access) -> None:
    described = access.topics(AclOperation.DESCRIBE, (topic.name for topic in response.topics))
    response.topics = [topic for topic in response.topics if topic.name in described]
    _show_operations(response, request, access)


def _show_operations(response: Any, request: MetadataRequest, access: Access) -> None:
    """Replace the operations of a node without an authorizer by those of the client."""
    for topic in response.topics:
        if topic.topic_authorized_operations != NOT_REQUESTED:
            topic.topic_authorized_operations = access.operations(ResourceType.TOPIC, topic.name)
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = _cluster_operations(access)


def _cluster_operations(access: Access) -> int:
    if not access.cluster(AclOperation.DESCRIBE):
        return 0
    return access.operations(ResourceType.CLUSTER, CLUSTER_NAME)


def describe_cluster(
    request: DescribeClusterRequest, context: RequestContext, access: Access, handle: Handle
) -> HandlerResult:
    """DescribeCluster: open to every client; it shows the client's own operations."""

    def show(response: Any) -> None:
        if response.cluster_authorized_operations != NOT_REQUESTED:
            response.cluster_authorized_operations = _cluster_operations(access)

    return edited(handle(request, context), show)


def describe_topic_partitions(
    request: DescribeTopicPartitionsRequest, context: RequestContext, access: Access, handle: Handle
) -> HandlerResult:
    """DescribeTopicPartitions: DESCRIBE on each topic; a list of all leaves out the others."""
    image = context.broker.metadata_cache.image
    names = [topic.name for topic in request.topics] or list(image.topics)
    described = access.topics(AclOperation.DESCRIBE, names)
    hidden = [topic.name for topic in request.topics if topic.name not in described]
    if request.topics:
        left = changed(request, topics=[topic for topic in request.topics if topic.name in described])
    else:
        left = request

    def show(response: Any) -> None:
        if request.topics and not left.topics:
            response.topics, response.next_cursor = [], None
        response.topics = [topic for topic in response.topics if topic.name in described]
        for topic in response.topics:
            topic.topic_authorized_operations = access.operations(ResourceType.TOPIC, topic.name)
        response.topics += [DescribeTopicPartitionsResponseTopic(error_code=DENIED, name=name) for name in hidden]

    return edited(handle(left, context), show)


def create_topics(
    request: CreateTopicsRequest, context: RequestContext, access: Access, handle: Handle
) -> HandlerResult:
    """CreateTopics: CREATE on the cluster or on each topic; only DESCRIBE_CONFIGS shows the new topic."""
    names = dict.fromkeys(topic.name for topic in request.topics)
    creatable = names.keys() if access.cluster(AclOperation.CREATE) else access.topics(AclOperation.CREATE, names)
    counts = Counter(topic.name for topic in request.topics)
    refused = hash_order([name for name in names if name not in creatable and counts[name] == 1])

    def finish(response: Any) -> None:
        for topic in response.topics:
            if not topic.error_code and not access.topic(AclOperation.DESCRIBE_CONFIGS, topic.name):
                topic.topic_config_error_code = DENIED
                topic.num_partitions = topic.replication_factor = -1
                topic.configs = []
        response.topics += [refused_topic(name, DENIED, "Authorization failed.") for name in refused]

    left = [topic for topic in request.topics if topic.name in creatable or counts[topic.name] > 1]
    return edited(handle(changed(request, topics=left), context), finish)


def delete_topics(
    request: DeleteTopicsRequest, context: RequestContext, access: Access, handle: Handle
) -> HandlerResult:
    """DeleteTopics: DELETE on the cluster, or DESCRIBE and DELETE on each topic."""
    if access.cluster(AclOperation.DELETE) or not context.broker.config.delete_topic_enable:
        return handle(request, context)
    image = context.broker.metadata_cache.image
    refused: list[DeletableTopicResult] = []

    def is_refused(name: str | None, topic_id: bytes) -> bool:
        by_id = name is None
        known = image.topics_by_id.get(topic_id) if by_id else image.topics.get(name or "")
        if by_id and known is None:
            return False
        found = known.name if known is not None else name or ""
        described = access.topic(AclOperation.DESCRIBE, found)
        if described and (known is None or access.topic(AclOperation.DELETE, found)):
            return False
        shown = found if described or not by_id else None
        refused.append(
            DeletableTopicResult(
                name=shown,
                topic_id=topic_id if by_id else ZERO_UUID,
                error_code=DENIED,
                error_message=default_message(DENIED),
            )
        )
        return True

    left = changed(
        request,
        topics=[topic for topic in request.topics if not is_refused(topic.name, topic.topic_id)],
        topic_names=[name for name in request.topic_names if not is_refused(name, ZERO_UUID)],
    )

    def add(response: Any) -> None:
        response.responses = [*refused, *response.responses]

    return edited(handle(left, context), add)


def create_partitions(
    request: CreatePartitionsRequest, context: RequestContext, access: Access, handle: Handle
) -> HandlerResult:
    """CreatePartitions: ALTER on each topic; refused topics come first."""
    allowed = access.topics(AclOperation.ALTER, (topic.name for topic in request.topics))
    counts = Counter(topic.name for topic in request.topics)
    refused = [topic.name for topic in request.topics if topic.name not in allowed and counts[topic.name] == 1]

    def add(response: Any) -> None:
        denied = [CreatePartitionsTopicResult(name=name, error_code=DENIED, error_message=None) for name in refused]
        response.results = [*denied, *response.results]

    left = changed(request, topics=[topic for topic in request.topics if topic.name not in refused])
    return edited(handle(left, context), add)
