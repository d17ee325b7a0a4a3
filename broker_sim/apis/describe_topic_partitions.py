"""DescribeTopicPartitions (api key 75, 4.x): topics page by page, with their ELR (KIP-966).

One version. Topics come in the order of their names; requested names that are unknown are among them.
The response has at most `response.partition.limit` partitions, and never more than max.request.partition.size.limit;
`next_cursor` is where the next page begins. Mirrors DescribeTopicPartitionsRequestHandler and KRaftMetadataCache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.auto_topic_creation import is_internal
from broker_sim.apis.metadata import TOPIC_OPERATIONS
from broker_sim.metadata.topic_names import refused_name
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.apis.request_context import RequestContext
    from broker_sim.metadata.metadata_image import BrokerRegistration, PartitionRegistration, TopicImage

NO_LEADER: Final = -1
_INT32: Final = 1 << 32


def handle(request: DescribeTopicPartitionsRequest, context: RequestContext) -> DescribeTopicPartitionsResponse:
    """Describe this broker's own view, which may be behind the controller's."""
    broker = context.broker
    image = broker.metadata_cache.image
    requested = [topic.name for topic in request.topics]
    refused = _refuse(requested, request.cursor)
    if refused is not None:
        return error_response(request, context, refused)
    first, start = ("", 0) if request.cursor is None else (request.cursor.topic_name, request.cursor.partition_index)
    names = sorted(
        {name for name in requested or image.topics if _java_order(name) >= _java_order(first)}, key=_java_order
    )
    limit = broker.config["max.request.partition.size.limit"]
    assert isinstance(limit, int)
    left = max(min(limit, request.response_partition_limit), 1)
    response = DescribeTopicPartitionsResponse(topics=[], next_cursor=None)
    nodes = image.nodes(context.listener_name)
    for name in names:
        if not left:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        topic = image.topics.get(name)
        if topic is None:
            response.topics.append(_unknown(name, context))
            continue
        begin = start if name == first else 0
        end = min(len(topic.partitions), _wrapped(begin + left))
        described = _topic(topic, range(begin, end), nodes, context)
        response.topics.append(described)
        if end < len(topic.partitions):
            response.next_cursor = Cursor(topic_name=name, partition_index=end)
            break
        left -= len(described.partitions)
    return response


def _refuse(requested: list[str], cursor: Cursor | None) -> ErrorCode | None:
    if cursor is None:
        # Kafka looks for the empty name's place in a cursor that is not there.
        return ErrorCode.UNKNOWN_SERVER_ERROR if "" in requested else None
    if requested and cursor.topic_name not in requested:
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.INVALID_REQUEST if cursor.partition_index < 0 else None


def _java_order(name: str) -> bytes:
    """String.compareTo goes by UTF-16 units."""
    return name.encode("utf-16-be", "surrogatepass")


def _wrapped(number: int) -> int:
    """As an int of Java: a cursor near the end of its range begins before the first partition again."""
    return (number + _INT32 // 2) % _INT32 - _INT32 // 2


def _unknown(name: str, context: RequestContext) -> DescribeTopicPartitionsResponseTopic:
    known = refused_name(name) is None
    return DescribeTopicPartitionsResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if known else ErrorCode.INVALID_TOPIC_EXCEPTION,
        name=name,
        is_internal=is_internal(name, context.broker.config),
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _topic(
    topic: TopicImage, indexes: range, nodes: Mapping[int, BrokerRegistration], context: RequestContext
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=ErrorCode.NONE,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=is_internal(topic.name, context.broker.config),
        partitions=[_partition(index, topic.partitions[index], nodes) for index in indexes],
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _partition(
    index: int, partition: PartitionRegistration, nodes: Mapping[int, BrokerRegistration]
) -> DescribeTopicPartitionsResponsePartition:
    offline = [
        broker_id
        for broker_id in partition.replicas
        if (broker := nodes.get(broker_id)) is None or broker.fenced or broker_id in partition.lost_replicas
    ]
    return DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode.NONE,
        partition_index=index,
        leader_id=partition.leader if partition.leader in nodes else NO_LEADER,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        eligible_leader_replicas=list(partition.elr),
        last_known_elr=list(partition.last_known_elr),
        offline_replicas=offline,
    )


def error_response(
    request: DescribeTopicPartitionsRequest,
    context: RequestContext,  # noqa: ARG001 - there is one version
    error_code: ErrorCode,
) -> DescribeTopicPartitionsResponse:
    """The whole request fails: every topic that was named has the error."""
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(error_code=error_code, name=topic.name) for topic in request.topics
        ],
        next_cursor=None,
    )


HANDLER: Final = ApiHandler(
    handle=handle,
    error_response=error_response,
)
