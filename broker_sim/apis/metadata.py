"""Metadata (api key 3): brokers, topics, leaders. Mirrors KafkaApis.handleTopicMetadataRequest and KRaftMetadataCache.

Versions: v0 has no "no topics": an empty list means all, and replicas that are not alive are left out (error 9).
v1 null means all. v2 cluster id. v4 the client may forbid automatic creation. v5 offline replicas. v6 a leader
whose broker lacks the listener of the connection is 72 (5 before). v7 leader epochs. v8-10 authorized operations of the
cluster. v12 topics by id, where one id makes the broker look at ids alone. v13 (4.x) a top-level error code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.auto_topic_creation import create_in_background, is_internal
from broker_sim.metadata.topic_names import refused_name
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import fields_hash, hash_set_order, immutable_set_order, list_hash, string_hash
from protocol_specs.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.apis.request_context import RequestContext
    from broker_sim.metadata.metadata_image import MetadataImage, PartitionRegistration, TopicImage

NOT_REQUESTED: Final = -(2**31)
TOPIC_OPERATIONS: Final = 3576
"""The operations on a topic that a client may do without an authorizer, as a bit field (KIP-430)."""
CLUSTER_OPERATIONS: Final = 8096
NO_LEADER: Final = -1
TOPIC_IDS_SINCE: Final = 12
LISTENER_ERRORS_SINCE: Final = 6


def handle(request: MetadataRequest, context: RequestContext) -> MetadataResponse:
    """Describe this broker's own view, which may be behind the controller's."""
    version = context.api_version
    broker = context.broker
    image = broker.metadata_cache.image
    refused = _refuse(request, version)
    if refused is not None:
        return error_response(request, context, refused)
    describer = _Describer(image, context)
    if request.topics is None or (version == 0 and not request.topics):
        topics = [describer.topic(topic) for topic in _all_topics(image, context)]
    else:
        ids = list(dict.fromkeys(topic.topic_id for topic in request.topics if topic.topic_id != ZERO_UUID))
        if ids:
            topics = _topics_by_id(ids, describer)
        else:
            names = list(dict.fromkeys(topic.name for topic in request.topics if topic.name is not None))
            names = _as_a_set(names, context)
            topics = _topics_by_name(names, describer, may_create=_may_create(request, context))
    if request.include_topic_authorized_operations:
        for topic in topics:
            if topic.error_code != ErrorCode.UNKNOWN_TOPIC_ID:
                topic.topic_authorized_operations = TOPIC_OPERATIONS
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
            for node in sorted(describer.alive.values(), key=lambda node: node.id)
        ],
        cluster_id=image.cluster_id,
        controller_id=controller_id(context),
        topics=topics,
        cluster_authorized_operations=cluster_operations(requested=request.include_cluster_authorized_operations),
    )


def cluster_operations(*, requested: bool) -> int:
    """Return the allowed operations on the cluster, as a bit field; the least int if not requested."""
    return CLUSTER_OPERATIONS if requested else NOT_REQUESTED


def controller_id(context: RequestContext) -> int:
    """Return a broker for admin requests. In KRaft mode Kafka names any live broker: the responding one if it can."""
    active = context.broker.active_controller_id
    if active is not None:
        return active
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


def _topics_by_id(ids: list[bytes], describer: _Describer) -> list[MetadataResponseTopic]:
    image = describer.image
    known = [image.topics_by_id[topic_id] for topic_id in ids if topic_id in image.topics_by_id]
    unknown = [
        MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
        for topic_id in ids
        if topic_id not in image.topics_by_id
    ]
    return unknown + [describer.topic(topic) for topic in known]


def _all_topics(image: MetadataImage, context: RequestContext) -> Iterable[TopicImage]:
    """Return every topic, in the order of Kafka's Scala set of their names."""
    if context.behaviour.zookeeper:
        return image.topics.values()
    # Of topics with one hash the newest comes first in the tree that the set is made from.
    topics = list(image.topics.values())[::-1]
    return [topics[place] for place in hash_set_order(string_hash(topic.name) for topic in topics)]


def _as_a_set(names: list[str], context: RequestContext, *, was: int = 0) -> list[str]:
    """Return different names in the order of Kafka's Scala set of them."""
    if len(names) < 2 or context.behaviour.zookeeper:
        return names
    return [names[place] for place in immutable_set_order(map(string_hash, names), was=was)]


def _topics_by_name(names: list[str], describer: _Describer, *, may_create: bool) -> list[MetadataResponseTopic]:
    image, broker = describer.image, describer.broker
    missing = _as_a_set([name for name in names if name not in image.topics], describer.context, was=len(names))
    legal = [name for name in missing if refused_name(name) is None]
    if may_create:
        create_in_background(broker, legal)
    topics = [describer.topic(image.topics[name]) for name in names if name in image.topics]
    absent = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if may_create and broker.config.behaviour.zookeeper:
        # The broker has written the topic into ZooKeeper: it will be there as soon as the controller has found it.
        absent = ErrorCode.LEADER_NOT_AVAILABLE
    if may_create and not broker.config.behaviour.zookeeper:
        # AutoTopicCreationManager returns invalid names first, then the map of the topics that it creates.
        created = [legal[place] for place in hash_set_order(map(string_hash, legal))]
        missing = [name for name in missing if name not in legal] + created
    for name in missing:
        error_code = absent if name in legal else ErrorCode.INVALID_TOPIC_EXCEPTION
        internal = is_internal(name, broker.config)
        topics.append(MetadataResponseTopic(error_code=error_code, name=name, is_internal=internal))
    return topics


class _Describer:
    """Describes topics for one request: in its version, and for its listener."""

    def __init__(self, image: MetadataImage, context: RequestContext) -> None:
        self.image = image
        self.context = context
        self.broker = context.broker
        self.nodes = image.nodes(context.listener_name)
        self.alive = {broker_id: node for broker_id, node in self.nodes.items() if not node.fenced}
        self._version = version = context.api_version
        kind = (version > 0) + (version >= LISTENER_ERRORS_SINCE)
        view = (kind, context.listener_name, tuple(image.brokers), tuple(self.nodes), tuple(self.alive))
        self._described = self.broker.metadata_cache.described(view)

    def topic(self, topic: TopicImage) -> MetadataResponseTopic:
        """One topic that exists."""
        return MetadataResponseTopic(
            error_code=ErrorCode.NONE,
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=is_internal(topic.name, self.broker.config),
            partitions=self._partitions(topic),
        )

    def _partitions(self, topic: TopicImage) -> list[MetadataResponsePartition]:
        """Return a topic's partitions, computed once per state: they are read much more often than changed."""
        described = self._described.get(topic.name)
        if described is None or described[0] is not topic:
            partitions = [self._partition(index, partition) for index, partition in enumerate(topic.partitions)]
            if self.broker.config.behaviour.metadata_partitions_from_a_set:
                partitions = [partitions[place] for place in hash_set_order(map(_hash, partitions))]
            described = self._described[topic.name] = (topic, partitions)
        return described[1]

    def _partition(self, index: int, partition: PartitionRegistration) -> MetadataResponsePartition:
        alive = self.alive
        replicas = list(partition.replicas)
        isr = list(partition.isr)
        if self._version == 0:
            replicas = [broker_id for broker_id in replicas if broker_id in alive]
            isr = [broker_id for broker_id in isr if broker_id in alive]
        leader_id = partition.leader
        error_code = ErrorCode.NONE
        if leader_id not in self.nodes:
            known = self._version >= LISTENER_ERRORS_SINCE and leader_id in self.image.brokers
            error_code = ErrorCode.LISTENER_NOT_FOUND if known else ErrorCode.LEADER_NOT_AVAILABLE
            leader_id = NO_LEADER
        elif len(replicas) < len(partition.replicas) or len(isr) < len(partition.isr):
            error_code = ErrorCode.REPLICA_NOT_AVAILABLE
        return MetadataResponsePartition(
            error_code=error_code,
            partition_index=index,
            leader_id=leader_id,
            leader_epoch=partition.leader_epoch,
            replica_nodes=replicas,
            isr_nodes=isr,
            offline_replicas=[
                broker_id
                for broker_id in partition.replicas
                if broker_id not in alive or broker_id in partition.lost_replicas
            ],
        )


def _hash(partition: MetadataResponsePartition) -> int:
    return fields_hash(
        int(partition.error_code),
        partition.partition_index,
        partition.leader_id,
        partition.leader_epoch,
        list_hash(partition.replica_nodes),
        list_hash(partition.isr_nodes),
        list_hash(partition.offline_replicas),
    )


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
