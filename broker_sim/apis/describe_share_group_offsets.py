"""DescribeShareGroupOffsets (api key 90): the start offsets of share groups (KIP-932).

Versions: v1 has the lag (KIP-1226). Null topics are all that have state. A partition without state, or whose state
cannot be read, has start offset -1. Mirrors KafkaApis.handleDescribeShareGroupOffsetsRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred, gatherResults, succeed

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.default_messages import default_message
from broker_sim.coordinators.groups.modern.topic_partitions import ordered
from broker_sim.coordinators.groups.share.state_requests import read_summaries
from broker_sim.coordinators.operation_errors import client_error, refused
from broker_sim.security.acl import AclOperation, ResourceType
from broker_sim.share_partitions.share_partition_manager import shares
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import computed_order, uuid_hash
from protocol_specs.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.groups.share.state_requests import Results
    from broker_sim.share_partitions.latest_offsets import Offsets
    from protocol_specs.message import Message
    from protocol_specs.messages.describe_share_group_offsets import (
        DescribeShareGroupOffsetsRequest,
        DescribeShareGroupOffsetsRequestGroup,
    )

UNINITIALIZED: Final = -1
Group = DescribeShareGroupOffsetsResponseGroup
Topic = DescribeShareGroupOffsetsResponseTopic
Partition = DescribeShareGroupOffsetsResponsePartition


def handle(request: DescribeShareGroupOffsetsRequest, context: RequestContext) -> HandlerResult:
    """Describe each group; respond when the state of all is read."""
    described = gatherResults([_describe(group, context) for group in request.groups])

    def respond(groups: list[Group]) -> Message:
        return DescribeShareGroupOffsetsResponse(groups=groups)

    return described.addCallback(respond)


def error_response(
    request: DescribeShareGroupOffsetsRequest,
    context: RequestContext,  # noqa: ARG001
    error_code: ErrorCode,
) -> DescribeShareGroupOffsetsResponse:
    """Return the error for every group."""
    return DescribeShareGroupOffsetsResponse(groups=[_refusal(group.group_id, error_code) for group in request.groups])


def _refusal(group_id: str, error_code: ErrorCode) -> Group:
    return Group(group_id=group_id, error_code=error_code, error_message=default_message(error_code))


def _denied(name: str, partitions: list[int]) -> Topic:
    error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return Topic(
        topic_name=name,
        partitions=[
            Partition(
                partition_index=each,
                start_offset=UNINITIALIZED,
                error_code=error,
                error_message=default_message(error),
            )
            for each in partitions
        ],
    )


def _describe(group: DescribeShareGroupOffsetsRequestGroup, context: RequestContext) -> Deferred[Group]:
    broker = context.broker
    image = broker.metadata_cache.image
    if not shares(image):
        return succeed(Group(group_id=group.group_id, error_code=ErrorCode.UNSUPPORTED_VERSION))
    if not context.may(AclOperation.DESCRIBE, ResourceType.GROUP, group.group_id):
        return succeed(Group(group_id=group.group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED))
    missing: list[Topic] = []
    denied: list[Topic] = []
    wanted: list[tuple[bytes, list[int]]] = []
    if group.topics is None:
        try:
            known = broker.coordinators.groups.read(
                group.group_id, lambda shard, _: shard.share.offsets.initialized(group.group_id)
            )
        except CoordinatorError as error:
            return succeed(_refusal(group.group_id, client_error(error.error_code)))
        wanted = [
            each
            for each in ordered(known)
            if each[0] in image.topics_by_id
            and context.may(AclOperation.DESCRIBE, ResourceType.TOPIC, image.topics_by_id[each[0]].name)
        ]
    for topic in group.topics or ():
        if not context.may(AclOperation.DESCRIBE, ResourceType.TOPIC, topic.topic_name):
            denied.append(_denied(topic.topic_name, topic.partitions))
            continue
        found = image.topics.get(topic.topic_name)
        if found is None:
            partitions = [Partition(partition_index=each, start_offset=UNINITIALIZED) for each in topic.partitions]
            missing.append(Topic(topic_name=topic.topic_name, partitions=partitions))
        else:
            wanted.append((found.topic_id, topic.partitions))
    if not wanted:
        return succeed(Group(group_id=group.group_id, topics=[*missing, *denied]))
    if not group.group_id or not all(partitions for _, partitions in wanted):
        # The parameters of such a request cannot be made in Kafka.
        return succeed(_refusal(group.group_id, ErrorCode.UNKNOWN_SERVER_ERROR))
    return _with_offsets(group.group_id, _as_read(wanted), [*missing, *denied], context)


def _as_read(wanted: list[tuple[bytes, list[int]]]) -> dict[bytes, list[int]]:
    """Return partitions by topic in the order of the maps of DefaultStatePersister."""
    order = computed_order([topic_id for topic_id, partitions in wanted for _ in partitions], uuid_hash)
    return {
        topic_id: computed_order([index for each, indexes in wanted if each == topic_id for index in indexes], int)
        for topic_id in order
    }


def _with_offsets(
    group_id: str, wanted: dict[bytes, list[int]], missing: list[Topic], context: RequestContext
) -> Deferred[Group]:
    manager = context.broker.share_partitions
    names = {topic_id: context.broker.metadata_cache.image.topics_by_id[topic_id].name for topic_id in wanted}
    keys = [(topic_id, each) for topic_id, partitions in wanted.items() for each in partitions]

    def read(results: Results) -> Any:
        consumed = [TopicPartition(names[key[0]], key[1]) for key, result in results.items() if _has_lag(result)]
        return manager.latest_offsets.read(consumed).addCallback(respond, results)

    def respond(ends: Offsets, results: Results) -> Group:
        topics = [
            Topic(
                topic_name=names[topic_id],
                topic_id=topic_id,
                partitions=[
                    _partition(each, results[topic_id, each], ends.get(TopicPartition(names[topic_id], each)))
                    for each in partitions
                ],
            )
            for topic_id, partitions in wanted.items()
        ]
        return Group(group_id=group_id, topics=[*topics, *missing])

    described: Any = read_summaries(manager.persister, group_id, keys).addCallback(read)
    return described.addErrback(refused(lambda code, _: _refusal(group_id, code)))  # type: ignore[no-any-return]


def _has_lag(result: Any) -> bool:
    return not result.error_code and UNINITIALIZED not in (result.start_offset, result.delivery_complete_count)


def _partition(index: int, result: Any, end: tuple[int, ErrorCode] | None) -> Partition:
    if end is None:
        if result.error_code:
            return Partition(partition_index=index, start_offset=UNINITIALIZED)
        return Partition(partition_index=index, start_offset=result.start_offset, leader_epoch=result.leader_epoch)
    offset, error_code = end
    if error_code:
        return Partition(partition_index=index, error_code=error_code, error_message=default_message(error_code))
    return Partition(
        partition_index=index,
        start_offset=result.start_offset,
        leader_epoch=result.leader_epoch,
        lag=offset - result.start_offset - result.delivery_complete_count,
    )


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
