"""OffsetCommit (api key 8): commit the offsets that a group has consumed.

Versions: v0 commits to ZooKeeper. v1 has generations, member ids and, alone, a time per offset. v2 to v4 have a
retention. v6 leader epochs (KIP-320), v7 static members (KIP-345), v9 member epochs (KIP-848), v10 topic ids.
Precedence per partition: an unknown topic id (100), a topic or partition that the metadata does not know (3); then the
group's checks, which fail all other partitions; then the length of the metadata (12). Mirrors
KafkaApis.handleOffsetCommitRequest and GroupCoordinatorService.commitOffsets.

Most requests commit one partition. They take a fast path: no lists by topic, and a response that is encoded once.
docs/design/fast-paths.md has the measured gain.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.offset_results import (
    KnownPartitions,
    by_topic,
    errors_of,
    failed_commits,
    in_map_order,
    refused_commits,
)
from broker_sim.apis.repeated_response import FRAMES_MAX, frame_tail, frame_with_tail
from broker_sim.coordinators.groups.coordinator_choice import uses_old_coordinator
from broker_sim.coordinators.groups.offsets.committed_offset import OffsetCommit, metadata_is_too_long
from broker_sim.security.acl import AclOperation, ResourceType
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.offset_commit import (
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from broker_sim.apis.broker_view import ZooKeeperOffsets
    from broker_sim.apis.handler_result import HandlerResult, Response
    from broker_sim.apis.offset_results import Named, PartitionErrors
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.coordinators.runtime.pending_writes import PendingWrite
    from broker_sim.metadata.metadata_image import TopicImage
    from protocol_specs.message import Message
    from protocol_specs.messages.offset_commit import OffsetCommitRequest

GROUPS_SINCE: Final = 1
TOPIC_IDS_SINCE: Final = 10
GROUP_RETENTION: Final = -1
"""The retention_time_ms of a commit that has the retention of its group."""
_NONE: Final = ErrorCode.NONE
"""A constant, because looking up a member of an enum is slow."""


def handle(request: OffsetCommitRequest, context: RequestContext) -> HandlerResult:
    """Refuse unknown partitions, and commit the offsets of the others."""
    only = only_commit(request, context)
    if only is not None:
        return _commit_one(*only, request, context)
    known = _known(request, context)
    commits = known.flat()
    if not commits:
        return _response(known.errors)
    if context.api_version < GROUPS_SINCE:
        offsets = context.broker.zookeeper_offsets
        if offsets is None:
            return error_response(request, context, ErrorCode.UNSUPPORTED_VERSION)
        return Deferred.fromCoroutine(_commit_to_zookeeper(request.group_id, known, offsets, context.broker.config))
    in_maps = uses_old_coordinator(context.broker.config)
    if in_maps:
        commits = in_map_order(commits, _index)

    def respond(errors: list[ErrorCode]) -> Message:
        results = by_topic(commits, errors, _index) if in_maps else known.results(errors, _index)
        return _response(known.merged(results))

    written = _write([_commit(topic, partition) for topic, partition in commits], request, context)
    result: HandlerResult = written.then(
        respond, lambda error: respond(failed_commits(error, written, len(commits), context))
    )
    return result


def _write(commits: list[OffsetCommit], request: OffsetCommitRequest, context: RequestContext) -> PendingWrite:
    return context.broker.coordinators.groups.write(
        request.group_id,
        "commit-offset",
        lambda shard: shard.offsets.commit(
            request.group_id,
            request.member_id,
            request.group_instance_id,
            request.generation_id_or_member_epoch,
            request.retention_time_ms,
            commits,
            context.api_version,
        ),
    )


# The fast path: one partition.


def only_commit(
    request: OffsetCommitRequest, context: RequestContext
) -> tuple[TopicImage, OffsetCommitRequestPartition] | None:
    """Return topic and partition of a request with one partition, which exists; None selects the slow path."""
    try:
        [topic] = request.topics
        [partition] = topic.partitions
    except ValueError:
        return None
    if context.access is not None:
        return None
    image = context.broker.metadata_cache.image
    if context.api_version >= TOPIC_IDS_SINCE:
        found = image.topics_by_id.get(topic.topic_id)
    elif context.api_version >= GROUPS_SINCE:
        found = image.topics.get(topic.name)
    else:
        return None
    if found is None or not 0 <= partition.partition_index < len(found.partitions):
        return None
    return found, partition


def _commit_one(
    topic: TopicImage, partition: OffsetCommitRequestPartition, request: OffsetCommitRequest, context: RequestContext
) -> HandlerResult:
    written = _apply(topic, partition, request, context)
    if written is True:
        return _committed(topic, partition, _NONE, context)
    if written is False:
        written = _write([_commit((topic.name, topic.topic_id), partition)], request, context)
    else:
        written.response = [_NONE]
    result: HandlerResult = written.then(
        lambda errors: _committed(topic, partition, errors[0], context),
        lambda error: _committed(topic, partition, refused_commits(error, 1, context)[0], context),
    )
    return result


def _apply(
    topic: TopicImage, partition: OffsetCommitRequestPartition, request: OffsetCommitRequest, context: RequestContext
) -> bool | PendingWrite:
    """Commit without a CoordinatorResult; False if that is not possible."""
    if request.retention_time_ms != GROUP_RETENTION:
        return False
    version = context.api_version
    return context.broker.coordinators.groups.write_applied(
        request.group_id,
        lambda shard, offset, now_ms: shard.offsets.commit_one(request, topic, partition, version, offset, now_ms),
    )


def _committed(
    topic: TopicImage, partition: OffsetCommitRequestPartition, error: ErrorCode, context: RequestContext
) -> Response:
    index = partition.partition_index
    if not context.transport.takes_frames:
        return _response([((topic.name, topic.topic_id), [(index, error)])])
    return frame_with_tail(
        context.correlation_id, frame_tail_of(context.api_version, topic.name, topic.topic_id, index, error)
    )


@lru_cache(maxsize=FRAMES_MAX)
def frame_tail_of(version: int, topic: str, topic_id: bytes, partition: int, error: ErrorCode) -> bytes:
    """Return the bytes of a response after the correlation id: clients repeat their commits."""
    return frame_tail(_response([((topic, topic_id), [(partition, error)])]), version)


async def _commit_to_zookeeper(
    group_id: str,
    known: KnownPartitions[OffsetCommitRequestPartition],
    offsets: ZooKeeperOffsets,
    config: BrokerConfig,
) -> Message:
    """Write the offsets one after another. Mirrors KafkaApis.commitOffsetsToZookeeper."""
    max_bytes = config["offset.metadata.max.bytes"]
    assert isinstance(max_bytes, int)
    commits = known.flat()
    errors = []
    for (topic, _), partition in commits:
        if metadata_is_too_long(partition.committed_metadata, max_bytes):
            errors.append(ErrorCode.OFFSET_METADATA_TOO_LARGE)
        else:
            key = TopicPartition(topic, partition.partition_index)
            errors.append(await offsets.commit(group_id, key, partition.committed_offset))
    return _response(known.merged(by_topic(commits, errors, _index)))


def _known(request: OffsetCommitRequest, context: RequestContext) -> KnownPartitions[OffsetCommitRequestPartition]:
    image = context.broker.metadata_cache.image
    any_partition = context.behaviour.commits_check_topics_alone
    known: KnownPartitions[OffsetCommitRequestPartition] = KnownPartitions()
    for topic in request.topics:
        if context.api_version < TOPIC_IDS_SINCE:
            by_name = image.topics.get(topic.name)
            named: Named = (topic.name, ZERO_UUID if by_name is None else by_name.topic_id)
        else:
            by_id = image.topics_by_id.get(topic.topic_id)
            if by_id is None:
                known.refuse_topic(("", topic.topic_id), map(_index, topic.partitions), ErrorCode.UNKNOWN_TOPIC_ID)
                continue
            named = (by_id.name, topic.topic_id)
        if not context.may(AclOperation.READ, ResourceType.TOPIC, named[0]):
            known.refuse_topic(named, map(_index, topic.partitions), ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            continue
        known.add_topic(named, topic.partitions, _index, image, any_partition=any_partition)
    return known


def _index(partition: OffsetCommitRequestPartition) -> int:
    return partition.partition_index


def _commit(topic: Named, partition: OffsetCommitRequestPartition) -> OffsetCommit:
    return OffsetCommit(
        *topic,
        partition.partition_index,
        partition.committed_offset,
        partition.committed_leader_epoch,
        partition.committed_metadata,
        partition.commit_timestamp,
    )


def error_response(
    request: OffsetCommitRequest,
    context: RequestContext,  # noqa: ARG001 - the same in every version
    error_code: ErrorCode,
) -> OffsetCommitResponse:
    """The whole request fails: every partition has the error. Mirrors OffsetCommitRequest.getErrorResponse."""
    topics = [((topic.name, topic.topic_id), topic.partitions) for topic in request.topics]
    return _response(errors_of(topics, _index, error_code))


def _response(errors: PartitionErrors) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=name,
                topic_id=topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=index, error_code=error_code)
                    for index, error_code in partitions
                ],
            )
            for (name, topic_id), partitions in errors
        ]
    )


HANDLER: Final = ApiHandler(handle=handle, error_response=error_response)
