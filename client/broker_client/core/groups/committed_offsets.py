"""Fetches the committed offsets of a group. Mirrors the fetch half of ConsumerCoordinator.

Offsets of transactions that are still open are waited for: the request requires stable offsets (KIP-447).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_client.consumer_errors import group_error, is_retriable
from broker_client.consumer_groups import OffsetAndMetadata
from broker_client.core.consumer.call_waits import PendingResult
from broker_client.core.groups.consumer_protocol import partitions_by_topic
from broker_client.core.groups.topic_ids import TOPIC_NAMES_UP_TO
from broker_client.errors import BrokerError, ProducerError, TopicAuthorizationFailed
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from twisted.internet.defer import Deferred

    from broker_client.core.consumer.call_waits import CallTimer, CallWaits
    from broker_client.core.groups.coordinator_finder import CoordinatorFinder
    from broker_client.core.groups.member_states import Generation
    from broker_client.core.groups.topic_ids import TopicIds

__all__ = ["CommittedOffsets", "committed_offset", "offset_fetch_request"]

BY_GROUP_FROM: Final = 8
STABLE_FROM: Final = 7
_LOST_COORDINATOR: Final = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)

Committed = dict[TopicPartition, OffsetAndMetadata | None]


class CommittedOffsets:
    """Call everything on the reactor's thread.

    `generation` returns the membership that a request belongs to; `with_member` sends it (KIP-848).
    """

    def __init__(
        self,
        group_id: str,
        finder: CoordinatorFinder,
        waits: CallWaits,
        generation: Callable[[], Generation | None],
        *,
        with_member: bool = False,
        topic_ids: TopicIds | None = None,
    ) -> None:
        self._group_id = group_id
        self._finder = finder
        self._waits = waits
        self._generation = generation
        self._with_member = with_member
        self._topic_ids = topic_ids
        self._pending: tuple[Generation | None, frozenset[TopicPartition], PendingResult] | None = None

    async def fetch(self, partitions: Sequence[TopicPartition], timer: CallTimer) -> Committed | None:
        """Return the committed offsets, None for partitions without one; None as a whole when the time is over.

        Raises:
            GroupAuthorizationFailed: the client may not read the group.
            TopicAuthorizationFailed: the client may not describe a topic.
            BrokerError: the coordinator refuses the request.
        """
        if not partitions:
            return {}
        wanted = frozenset(partitions)
        attempts = 0
        while True:
            if not await self._finder.ensure_ready(timer):
                return None
            key = self._generation()
            if self._pending is None or self._pending[:2] != (key, wanted):
                self._pending = (key, wanted, PendingResult.of(self._send(partitions), self._waits))
            pending = self._pending[2]
            if not await self._waits.until(lambda pending=pending: pending.is_done, timer):  # type: ignore[misc]
                return None
            self._pending = None
            if pending.error is None:
                return pending.value  # type: ignore[no-any-return]
            if not (is_retriable(pending.error) or _is_stale(pending.error)):
                raise pending.error
            await self._waits.sleep(self._finder.backoff.backoff_ms(attempts), timer)
            attempts += 1
            if timer.is_expired:
                return None

    # Details

    def _send(self, partitions: Sequence[TopicPartition]) -> Deferred[Any]:
        member = self._generation() if self._with_member else None

        def build(version: int) -> OffsetFetchRequest:
            request = offset_fetch_request(version, {self._group_id: partitions}, require_stable=True)
            for group in request.groups:
                if member is not None and member.is_member:
                    group.member_id, group.member_epoch = member.member_id, member.generation_id
                if ids is not None and version > TOPIC_NAMES_UP_TO:
                    for topic in group.topics or ():
                        topic.topic_id = ids.id_of(topic.name)
            return request

        ids = self._topic_ids
        highest = TOPIC_NAMES_UP_TO if ids is None else ids.highest_version(key.topic for key in partitions)
        response = self._finder.send(OffsetFetchRequest, build, highest_version=highest)
        return response.addCallback(self._take)

    def _take(self, response: OffsetFetchResponse) -> Committed:
        source: Any = response.groups[0] if response.groups else response
        code = ErrorCode.for_code(source.error_code)
        if code in _LOST_COORDINATOR:
            self._finder.mark_unknown(f"error response {code.name}")
        if code is not ErrorCode.NONE:
            raise group_error(code, self._group_id)
        found: Committed = {}
        unauthorized: list[str] = []
        unstable: list[TopicPartition] = []
        for topic in source.topics:
            name = topic.name or ("" if self._topic_ids is None else self._topic_ids.name_of(topic.topic_id))
            for one in topic.partitions:
                key = TopicPartition(name, one.partition_index)
                code = ErrorCode.for_code(one.error_code)
                if code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                    unauthorized.append(name)
                elif code is ErrorCode.UNSTABLE_OFFSET_COMMIT:
                    unstable.append(key)
                elif code is not ErrorCode.NONE:
                    raise ProducerError(f"OffsetFetch: group {self._group_id} partition {key}: {code.name}")
                else:
                    found[key] = committed_offset(one)
        if unauthorized:
            raise TopicAuthorizationFailed(", ".join(dict.fromkeys(unauthorized)))
        if unstable:
            names = ", ".join(str(key) for key in unstable)
            raise BrokerError(ErrorCode.UNSTABLE_OFFSET_COMMIT, f"offsets of open transactions: {names}")
        return found


def offset_fetch_request(
    version: int, groups: Mapping[str, Sequence[TopicPartition] | None], *, require_stable: bool
) -> OffsetFetchRequest:
    """Return the request for the offsets of partitions by group, None for all partitions; without a membership.

    Versions before 8 have one group per request; before 7 there are no stable offsets.
    """
    if version < BY_GROUP_FROM:
        ((group_id, partitions),) = groups.items()
        return OffsetFetchRequest(
            group_id=group_id,
            topics=None
            if partitions is None
            else [
                OffsetFetchRequestTopic(name=name, partition_indexes=numbers)
                for name, numbers in partitions_by_topic(partitions).items()
            ],
            require_stable=require_stable and version >= STABLE_FROM,
        )
    return OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(
                group_id=group_id,
                topics=None
                if partitions is None
                else [
                    OffsetFetchRequestTopics(name=name, partition_indexes=numbers)
                    for name, numbers in partitions_by_topic(partitions).items()
                ],
            )
            for group_id, partitions in groups.items()
        ],
        require_stable=require_stable,
    )


def _is_stale(error: BaseException) -> bool:
    """True if the member has a newer epoch than the request had."""
    return isinstance(error, BrokerError) and error.error_code is ErrorCode.STALE_MEMBER_EPOCH


def committed_offset(one: Any) -> OffsetAndMetadata | None:
    """Return the offset in a partition of a response, None if the group has committed none."""
    if one.committed_offset < 0:
        return None
    epoch = one.committed_leader_epoch
    return OffsetAndMetadata(
        offset=one.committed_offset, metadata=one.metadata or "", leader_epoch=epoch if epoch >= 0 else None
    )
