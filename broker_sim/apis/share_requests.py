"""The parts that ShareFetch and ShareAcknowledge have in common: checks, and acknowledgements. Mirrors the methods
of KafkaApis that both handlers call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred, gatherResults, succeed

from broker_sim.apis.partition_order import immutable_order, mutable_order, partition_hash_with_id
from broker_sim.security.acl import AclOperation, ResourceType
from broker_sim.share_partitions.acknowledgement import AcknowledgedBatch
from broker_sim.share_partitions.record_states import AcknowledgeType
from broker_sim.share_partitions.share_error import ShareError
from broker_sim.share_partitions.share_partition_manager import shares
from broker_sim.share_partitions.share_sessions import SessionKey, TopicIdPartition
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from broker_sim.apis.request_context import RequestContext

__all__ = ["MOVED", "Acknowledgements", "Results", "Topics", "is_broken_by_unknown_topic", "is_valid_member", "refusal"]

MEMBER_ID_MAX: Final = 36
RENEW_VERSION: Final = 2
MOVED: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
"""The errors beside which a response has the current leader (KIP-951)."""

Results = dict[TopicIdPartition, ShareError | None]
"""The result of each acknowledged partition."""


def refusal(request: Any, context: RequestContext) -> ErrorCode | None:
    """Return why a request fails as a whole before its session is looked up, None if it does not."""
    if not shares(context.broker.metadata_cache.image):
        return ErrorCode.UNSUPPORTED_VERSION
    if request.group_id is None or not is_valid_member(request.member_id):
        return ErrorCode.INVALID_REQUEST
    if not context.may(AclOperation.READ, ResourceType.GROUP, request.group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    return None


def is_broken_by_unknown_topic(request: Any, context: RequestContext) -> bool:
    """Return True if an authorizer judges a topic id without a name: in Kafka that is an exception of its own, which
    fails the whole request after its session has advanced.
    """
    if context.access is None:
        return False
    topics = Topics(context)
    return any(topic.partitions and topics.name(topic.topic_id) is None for topic in request.topics)


def is_valid_member(member_id: str | None) -> bool:
    """Return True for a member id that is neither empty nor too long."""
    return member_id is not None and 0 < len(member_id) <= MEMBER_ID_MAX


class Topics:
    """The names of topics by id, as a request began with."""

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._image = context.broker.metadata_cache.image

    def name(self, topic_id: bytes) -> str | None:
        """Return the name of a topic, None for an unknown id."""
        topic = self._image.topics_by_id.get(topic_id)
        return None if topic is None else topic.name

    def error(self, key: TopicIdPartition) -> ErrorCode | None:
        """Return the error of a partition that is not there, not the client's to read, or refused by a fault rule."""
        topic = self._image.topics_by_id.get(key.topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        if not self._context.may(AclOperation.READ, ResourceType.TOPIC, topic.name):
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if not 0 <= key.partition < len(topic.partitions):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        faulty = self._context.injected_errors
        return None if faulty is None else faulty.get((topic.name, key.partition))

    def mutable_order(self, keys: Iterable[TopicIdPartition]) -> list[TopicIdPartition]:
        """Return partitions as a mutable map of Scala lists them."""
        return mutable_order(list(keys), self._hash)

    def immutable_order(self, keys: Iterable[TopicIdPartition]) -> list[TopicIdPartition]:
        """Return partitions as an immutable map lists them that was made of a mutable one."""
        return immutable_order(self.mutable_order(keys), self._hash)

    def _hash(self, key: TopicIdPartition) -> int:
        return partition_hash_with_id((self.name(key.topic_id) or "", key.partition), key.topic_id)


@dataclass(slots=True)
class Acknowledgements:
    """The acknowledged ranges of a request. Mirrors validateAcknowledgementBatches and handleAcknowledgements."""

    topics: Topics
    renews: bool
    """The request states that it renews locks (KIP-1222)."""
    highest_type: int
    results: Results = field(default_factory=dict)
    _batches: dict[TopicIdPartition, list[AcknowledgedBatch]] = field(default_factory=dict)
    _empty: list[TopicIdPartition] = field(default_factory=list)

    @classmethod
    def of(cls, request: Any, context: RequestContext) -> Acknowledgements:
        """Sort the partitions of a request into those to acknowledge and those that are refused."""
        renews = context.api_version >= RENEW_VERSION and request.is_renew_ack
        highest = AcknowledgeType.RENEW if context.api_version >= RENEW_VERSION else AcknowledgeType.REJECT
        made = cls(Topics(context), renews, highest)
        for topic in request.topics:
            for partition in topic.partitions:
                key = TopicIdPartition(topic.topic_id, partition.partition_index)
                made.add(key, [AcknowledgedBatch(*each) for each in _ranges(partition)])
        return made

    def add(self, key: TopicIdPartition, batches: list[AcknowledgedBatch]) -> None:
        """Add a partition; one that is named twice has its last ranges."""
        self.results.pop(key, None)
        self._batches.pop(key, None)
        error = self.topics.error(key)
        if error is not ErrorCode.UNKNOWN_TOPIC_ID and not self._are_valid(batches):
            error = ErrorCode.INVALID_REQUEST
        if error is not None:
            self.results[key] = ShareError(error, text=None)
        elif batches:
            self._batches[key] = batches
        else:
            self._empty.append(key)

    def _are_valid(self, batches: Sequence[AcknowledgedBatch]) -> bool:
        previous_last = -1
        for batch in batches:
            types = batch.types
            if (
                batch.first_offset > batch.last_offset
                or batch.first_offset < previous_last
                or not types
                or (len(types) > 1 and batch.last_offset - batch.first_offset != len(types) - 1)
                or any(not 0 <= each <= self.highest_type for each in types)
                or (AcknowledgeType.RENEW in types and not self.renews)
            ):
                return False
            previous_last = batch.last_offset
        return True

    def run(self, session: SessionKey, context: RequestContext) -> Deferred[Results]:
        """Acknowledge; the Deferred fires with the results in Kafka's order when all are stored.

        Raises:
            BrokenAcknowledgement: One of the ranges fails the whole request.
        """
        if not self._batches:
            # Kafka drops the partitions without ranges here.
            return succeed({key: self.results[key] for key in self.topics.mutable_order(self.results)})
        running = context.broker.share_partitions.acknowledge(session, self._batches)
        keys = list(running)

        def finished(errors: list[ShareError | None]) -> Results:
            results = {**dict(zip(keys, errors, strict=True)), **self.results, **dict.fromkeys(self._empty)}
            return {key: results[key] for key in self.topics.immutable_order(results)}

        return gatherResults(list(running.values())).addCallback(finished)


def _ranges(partition: Any) -> list[tuple[int, int, list[int]]]:
    return [(each.first_offset, each.last_offset, each.acknowledge_types) for each in partition.acknowledgement_batches]
