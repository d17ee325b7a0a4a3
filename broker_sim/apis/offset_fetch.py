"""OffsetFetch (api key 9): the committed offsets of groups.

Versions: v0 reads from ZooKeeper. v2 null topics for all offsets, and an error for the whole group (KIP-88). v5 leader
epochs (KIP-320), v7 stable offsets alone (KIP-447), v8 many groups (KIP-709), v9 member epochs (KIP-848), v10 topic
ids. A group or partition without offsets has offset -1 and no error. Mirrors KafkaApis.handleOffsetFetchRequest and
GroupCoordinatorService.fetchOffsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from twisted.internet.defer import Deferred

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.handler_result import NoResponse, when_all
from broker_sim.apis.partition_order import immutable_order, mutable_order, partition_hash
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.coordinator_choice import uses_old_coordinator
from broker_sim.coordinators.groups.offsets.offset_metadata_manager import LATEST
from broker_sim.coordinators.operation_errors import client_error, refusal
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from broker_sim.security.acl import AclOperation, ResourceType
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import hash_order, hash_order_by
from protocol_specs.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_sim.apis.broker_view import BrokerView, ZooKeeperOffsets
    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.groups.group_shard import GroupShard
    from broker_sim.coordinators.groups.offsets.offset_metadata_manager import FetchedOffset
    from protocol_specs.message import Message
    from protocol_specs.messages.offset_fetch import OffsetFetchRequest

_Refused: TypeAlias = "tuple[OffsetFetchRequestTopics, ErrorCode]"
"""A topic of a request, and its error."""

GROUPS_SINCE: Final = 1
GROUP_ERRORS_SINCE: Final = 2
MANY_GROUPS_SINCE: Final = 8
TOPIC_IDS_SINCE: Final = 10


def handle(request: OffsetFetchRequest, context: RequestContext) -> HandlerResult:
    """Return the offsets of each group."""
    if context.api_version < GROUPS_SINCE:
        if not context.may(AclOperation.DESCRIBE, ResourceType.GROUP, request.group_id):
            return error_response(request, context, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        offsets = context.broker.zookeeper_offsets
        if offsets is None:
            return error_response(request, context, ErrorCode.UNSUPPORTED_VERSION)
        return Deferred.fromCoroutine(_fetch_from_zookeeper(request, offsets, context.broker))
    groups = _groups(request, context)
    if not groups and context.behaviour.offset_fetch_of_no_groups_hangs:
        return NoResponse.STAY_MUTED
    results = [_fetch(group, context, require_stable=request.require_stable) for group in groups]
    response: Message | Deferred[Message] = when_all(results, lambda fetched: _response(fetched, context))
    return response


async def _fetch_from_zookeeper(request: OffsetFetchRequest, offsets: ZooKeeperOffsets, broker: BrokerView) -> Message:
    """Read the offsets one after another. Mirrors KafkaApis.handleOffsetFetchRequestFromZookeeper."""
    image = broker.metadata_cache.image
    any_partition = broker.config.behaviour.commits_check_topics_alone
    results: dict[TopicPartition, OffsetFetchResponsePartition] = {}
    for topic in request.topics or ():
        for index in topic.partition_indexes:
            key = TopicPartition(topic.name, index)
            offset, error_code = None, ErrorCode.NONE
            if image.partition(*key) is not None or (any_partition and topic.name in image.topics):
                offset, error_code = await offsets.fetch(request.group_id, key)
            if offset is None:
                error_code = error_code or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                results[key] = _single(_error_partition(index, error_code))
            else:
                results[key] = OffsetFetchResponsePartition(
                    partition_index=index, committed_offset=offset, metadata="", error_code=ErrorCode.NONE
                )
    return _hashed_response(results, immutable_order(list(results), partition_hash))


def _groups(request: OffsetFetchRequest, context: RequestContext) -> list[OffsetFetchRequestGroup]:
    """Return the groups of a request; before v8 the only one. Mirrors OffsetFetchRequest.groups."""
    if context.api_version >= MANY_GROUPS_SINCE:
        return request.groups
    topics = request.topics
    return [
        OffsetFetchRequestGroup(
            group_id=request.group_id,
            topics=None
            if topics is None
            else [
                OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes) for topic in topics
            ],
        )
    ]


def _fetch(
    group: OffsetFetchRequestGroup, context: RequestContext, *, require_stable: bool
) -> OffsetFetchResponseGroup | Deferred[OffsetFetchResponseGroup]:
    if not context.may(AclOperation.DESCRIBE, ResourceType.GROUP, group.group_id):
        return _group_error(group, ErrorCode.GROUP_AUTHORIZATION_FAILED, context)
    topics, refused = _topics(group, context)
    partitions = None
    if topics is not None:
        partitions = [
            (TopicPartition(topic.name, index), topic.topic_id) for topic in topics for index in topic.partition_indexes
        ]
    groups = context.broker.coordinators.groups

    def offsets(shard: GroupShard, committed_offset: int) -> list[FetchedOffset]:
        return shard.offsets.fetch(
            group_id=group.group_id,
            member_id=group.member_id,
            member_epoch=group.member_epoch,
            partitions=partitions,
            require_stable=require_stable,
            committed_offset=committed_offset,
        )

    def respond(fetched: list[FetchedOffset]) -> OffsetFetchResponseGroup:
        return _group_response(group.group_id, fetched, topics, refused, context)

    if require_stable and not uses_old_coordinator(context.broker.config):
        written = groups.write(
            group.group_id, "fetch-offsets", lambda shard: CoordinatorResult([], offsets(shard, LATEST))
        )
        result: OffsetFetchResponseGroup | Deferred[OffsetFetchResponseGroup] = written.then(
            respond, refusal(lambda code, _: _group_error(group, _fetch_error(code), context))
        )
        return result
    try:
        return respond(groups.read(group.group_id, offsets))
    except CoordinatorError as error:
        return _group_error(group, client_error(error.error_code), context)


def _topics(
    group: OffsetFetchRequestGroup, context: RequestContext
) -> tuple[list[OffsetFetchRequestTopics] | None, list[_Refused]]:
    """Return the topics of a group's request with name and id, None for all, and those refused with their errors."""
    if group.topics is None:
        return None, []
    image = context.broker.metadata_cache.image
    known: list[OffsetFetchRequestTopics] = []
    refused: list[_Refused] = []
    for topic in group.topics:
        if context.api_version < TOPIC_IDS_SINCE:
            found = image.topics.get(topic.name)
            name, topic_id = topic.name, ZERO_UUID if found is None else found.topic_id
        elif (found := image.topics_by_id.get(topic.topic_id)) is not None:
            name, topic_id = found.name, topic.topic_id
        else:
            refused.append((topic, ErrorCode.UNKNOWN_TOPIC_ID))
            continue
        if not context.may(AclOperation.DESCRIBE, ResourceType.TOPIC, name):
            refused.append((topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
            continue
        known.append(OffsetFetchRequestTopics(name=name, topic_id=topic_id, partition_indexes=topic.partition_indexes))
    return known, refused


def _fetch_error(error_code: ErrorCode) -> ErrorCode:
    """Return the error for a fetch that has waited for commits. Mirrors handleOffsetFetchException."""
    mapped = client_error(error_code)
    return ErrorCode.NOT_COORDINATOR if mapped == ErrorCode.COORDINATOR_NOT_AVAILABLE else mapped


def _group_response(
    group_id: str,
    fetched: Sequence[FetchedOffset],
    topics: list[OffsetFetchRequestTopics] | None,
    refused: list[_Refused],
    context: RequestContext,
) -> OffsetFetchResponseGroup:
    if uses_old_coordinator(context.broker.config):
        responses = _by_topic(_in_map_order(fetched, of_all=topics is None), context)
    elif topics is None:
        responses = _by_topic(fetched, context)
    else:
        left = iter(fetched)
        responses = [
            OffsetFetchResponseTopics(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[_partition(index, next(left)) for index in topic.partition_indexes],
            )
            for topic in topics
        ]
    if topics is None and context.access is not None:
        responses = [each for each in responses if context.may(AclOperation.DESCRIBE, ResourceType.TOPIC, each.name)]
    responses += [
        OffsetFetchResponseTopics(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=[_error_partition(index, error_code) for index in topic.partition_indexes],
        )
        for topic, error_code in refused
    ]
    return OffsetFetchResponseGroup(group_id=group_id, topics=responses)


def _by_topic(fetched: Sequence[FetchedOffset], context: RequestContext) -> list[OffsetFetchResponseTopics]:
    """Return each topic once, where its first partition comes."""
    image = context.broker.metadata_cache.image
    topics: dict[str, OffsetFetchResponseTopics] = {}
    for each in fetched:
        name, index = each.partition
        topic = topics.get(name)
        if topic is None:
            known = image.topics.get(name)
            topic_id = ZERO_UUID if known is None else known.topic_id
            topic = topics[name] = OffsetFetchResponseTopics(name=name, topic_id=topic_id, partitions=[])
        topic.partitions.append(_partition(index, each))
    return list(topics.values())


def _in_map_order(fetched: Sequence[FetchedOffset], *, of_all: bool) -> list[FetchedOffset]:
    """Return partitions as Scala's maps list them, each once."""
    offsets = {each.partition: each for each in fetched}
    keys = list(offsets)
    if of_all:
        keys = mutable_order(keys, partition_hash)
    return [offsets[key] for key in immutable_order(keys, partition_hash)]


def _partition(index: int, fetched: FetchedOffset) -> OffsetFetchResponsePartitions:
    committed = fetched.committed
    if committed is None:
        return _error_partition(index, fetched.error_code)
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
    )


def _error_partition(index: int, error_code: ErrorCode) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=index, committed_offset=-1, committed_leader_epoch=-1, metadata="", error_code=error_code
    )


def _group_error(
    group: OffsetFetchRequestGroup, error_code: ErrorCode, context: RequestContext
) -> OffsetFetchResponseGroup:
    """Return the error of a group; before v2 every partition has it. Mirrors OffsetFetchResponse.groupError."""
    topics: list[OffsetFetchResponseTopics] = []
    if context.api_version < GROUP_ERRORS_SINCE and not context.behaviour.offset_fetch_loses_errors:
        topics = [
            OffsetFetchResponseTopics(
                name=topic.name, partitions=[_error_partition(index, error_code) for index in topic.partition_indexes]
            )
            for topic in group.topics or []
        ]
    return OffsetFetchResponseGroup(group_id=group.group_id, topics=topics, error_code=error_code)


def error_response(request: OffsetFetchRequest, context: RequestContext, error_code: ErrorCode) -> OffsetFetchResponse:
    """The whole request fails: every group has the error. Mirrors OffsetFetchRequest.getErrorResponse."""
    if context.api_version >= GROUP_ERRORS_SINCE:
        groups = _groups(request, context)
        return _response(
            [OffsetFetchResponseGroup(group_id=group.group_id, topics=[], error_code=error_code) for group in groups],
            context,
        )
    results = {
        TopicPartition(topic.name, index): _single(_error_partition(index, error_code))
        for topic in request.topics or ()
        for index in topic.partition_indexes
    }
    return _hashed_response(results, hash_order_by(results, partition_hash))


def _hashed_response(
    results: Mapping[TopicPartition, OffsetFetchResponsePartition], order: Sequence[TopicPartition]
) -> OffsetFetchResponse:
    """Return the results of partitions in an order, by topics as Java's HashMap lists them."""
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(name=name, partitions=[results[key] for key in order if key.topic == name])
            for name in hash_order(dict.fromkeys(key.topic for key in order))
        ]
    )


def _response(groups: list[OffsetFetchResponseGroup], context: RequestContext) -> OffsetFetchResponse:
    if context.api_version >= MANY_GROUPS_SINCE:
        return OffsetFetchResponse(groups=groups)
    [group] = groups
    return OffsetFetchResponse(
        error_code=group.error_code,
        topics=[
            OffsetFetchResponseTopic(name=topic.name, partitions=[_single(partition) for partition in topic.partitions])
            for topic in group.topics
        ],
    )


def _single(partition: Any) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(
        partition_index=partition.partition_index,
        committed_offset=partition.committed_offset,
        committed_leader_epoch=partition.committed_leader_epoch,
        metadata=partition.metadata,
        error_code=partition.error_code,
    )


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
