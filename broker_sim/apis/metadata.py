"""Metadata (api key 3): brokers, topics, leaders. Mirrors KafkaApis.handleTopicMetadataRequest and KRaftMetadataCache.

Versions: v0 has no "no topics": an empty list asks for all, and replicas that are not alive are left out (error 9).
v1 null asks for all. v2 cluster id. v4 the client may forbid automatic creation. v5 offline replicas. v6 a leader
that is not alive is 72 where its broker is known. v7 leader epochs. v8-10 authorized operations of the cluster.
v12 topics by id, where one id makes the broker look at ids alone. v13 (4.x) a top-level error code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.auto_topic_creation import create_in_background, is_internal
from broker_sim.apis.kafka_apis import ApiHandler, register
from broker_sim.controller.topic_names import refused_name
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.controller.metadata_image import MetadataImage, PartitionRegistration, TopicImage

METADATA: Final = 3
NOT_ASKED: Final = -(2**31)
TOPIC_OPERATIONS: Final = 3576
"""What anybody may do with a topic when there is no authorizer, as a bit field (KIP-430)."""
CLUSTER_OPERATIONS: Final = 8096
NO_LEADER: Final = -1
TOPIC_IDS_SINCE: Final = 12


def handle_metadata(request: MetadataRequest, context: RequestContext) -> MetadataResponse:
    """Answer from this broker's own view, which may be behind the controller's."""
    version = context.api_version
    broker = context.broker
    image = broker.metadata_cache.image
    refused = _refuse(request, version)
    if refused is not None:
        return error_response(request, context, refused)
    if request.topics is None or (version == 0 and not request.topics):
        topics = [_topic(topic, image, context) for topic in image.topics.values()]
    else:
        ids = list(dict.fromkeys(topic.topic_id for topic in request.topics if topic.topic_id != ZERO_UUID))
        if ids:
            topics = _topics_by_id(ids, image, context)
        else:
            names = dict.fromkeys(topic.name for topic in request.topics if topic.name is not None)
            topics = _topics_by_name(list(names), image, context, may_create=_may_create(request, context))
    if request.include_topic_authorized_operations:
        for topic in topics:
            if topic.error_code != ErrorCode.UNKNOWN_TOPIC_ID:
                topic.topic_authorized_operations = TOPIC_OPERATIONS
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
            for node in sorted(image.alive_brokers(), key=lambda node: node.id)
        ],
        cluster_id=image.cluster_id,
        controller_id=controller_id(context),
        topics=topics,
        cluster_authorized_operations=cluster_operations(asked=request.include_cluster_authorized_operations),
    )


def cluster_operations(*, asked: bool) -> int:
    """What anybody may do with the cluster without an authorizer, as a bit field; the least int when not asked."""
    return CLUSTER_OPERATIONS if asked else NOT_ASKED


def controller_id(context: RequestContext) -> int:
    """A broker to send admin requests to. In KRaft mode Kafka names any alive broker: the answering one if it can."""
    alive = [node.id for node in context.broker.metadata_cache.image.alive_brokers()]
    if context.broker.id in alive:
        return context.broker.id
    return min(alive, default=-1)


def error_response(request: MetadataRequest, context: RequestContext, error_code: ErrorCode) -> MetadataResponse:  # noqa: ARG001
    """The whole request fails: every topic has the error. Mirrors MetadataRequest.getErrorResponse."""
    return MetadataResponse(
        brokers=[],
        cluster_id=None,
        controller_id=-1,
        topics=[
            MetadataResponseTopic(error_code=error_code, name=topic.name or "", topic_id=topic.topic_id)
            for topic in request.topics or ()
        ],
        error_code=error_code,
    )


def _refuse(request: MetadataRequest, version: int) -> ErrorCode | None:
    topics = request.topics or ()
    if version < TOPIC_IDS_SINCE:
        # v10 and v11 have the fields, but nothing that would use them.
        if any(topic.name is None or topic.topic_id != ZERO_UUID for topic in topics):
            return ErrorCode.INVALID_REQUEST
    elif any(topic.name is None for topic in topics) and all(topic.topic_id == ZERO_UUID for topic in topics):
        # Kafka looks a topic up by a name that is null.
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return None


def _may_create(request: MetadataRequest, context: RequestContext) -> bool:
    return request.allow_auto_topic_creation and context.broker.config.auto_create_topics_enable


def _topics_by_id(ids: list[bytes], image: MetadataImage, context: RequestContext) -> list[MetadataResponseTopic]:
    known = [image.topics_by_id[topic_id] for topic_id in ids if topic_id in image.topics_by_id]
    unknown = [
        MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
        for topic_id in ids
        if topic_id not in image.topics_by_id
    ]
    return unknown + [_topic(topic, image, context) for topic in known]


def _topics_by_name(
    names: list[str], image: MetadataImage, context: RequestContext, *, may_create: bool
) -> list[MetadataResponseTopic]:
    config = context.broker.config
    missing = [name for name in names if name not in image.topics]
    legal = [name for name in missing if refused_name(name) is None]
    if may_create:
        create_in_background(context.broker, legal)
    answers = [_topic(image.topics[name], image, context) for name in names if name in image.topics]
    for name in missing:
        error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if name in legal else ErrorCode.INVALID_TOPIC_EXCEPTION
        answers.append(MetadataResponseTopic(error_code=error_code, name=name, is_internal=is_internal(name, config)))
    return answers


def _topic(topic: TopicImage, image: MetadataImage, context: RequestContext) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=ErrorCode.NONE,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=is_internal(topic.name, context.broker.config),
        partitions=[
            _partition(index, partition, image, context.api_version) for index, partition in enumerate(topic.partitions)
        ],
    )


def _partition(
    index: int, partition: PartitionRegistration, image: MetadataImage, version: int
) -> MetadataResponsePartition:
    replicas = [broker_id for broker_id in partition.replicas if version or broker_id in image.brokers]
    isr = [broker_id for broker_id in partition.isr if version or broker_id in image.brokers]
    leader_id = partition.leader
    error_code = ErrorCode.NONE
    if leader_id not in image.brokers:
        leader_id = NO_LEADER
        error_code = ErrorCode.LEADER_NOT_AVAILABLE
    elif len(replicas) < len(partition.replicas) or len(isr) < len(partition.isr):
        error_code = ErrorCode.REPLICA_NOT_AVAILABLE
    return MetadataResponsePartition(
        error_code=error_code,
        partition_index=index,
        leader_id=leader_id,
        leader_epoch=partition.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=[broker_id for broker_id in partition.replicas if not _is_online(broker_id, image)],
    )


def _is_online(broker_id: int, image: MetadataImage) -> bool:
    broker = image.brokers.get(broker_id)
    return broker is not None and not broker.fenced


register(ApiHandler(api_key=METADATA, handle=handle_metadata, error_response=error_response))
