"""Positions chosen and checked by requests: reset by offset spec, validated by epoch. Mirrors OffsetFetcher; KIP-320.

A partition is `busy` while a request for it is under way; after a seek meanwhile, the response is ignored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from broker_client.admin_errors import ItemsFailed
from broker_client.consumer_errors import LogTruncated
from broker_client.core.admin.calls import AdminCalls, ItemCall, Outcomes
from broker_client.core.admin.records import OffsetSpec, RecordCalls
from broker_client.core.admin.routes import LEADER
from broker_client.core.consumer.offset_resets import ByDuration
from broker_client.core.consumer.subscription_state import NO_EPOCH, FetchPosition
from broker_client.core.producer.sender_loop import now_ms_of
from broker_client.isolation_levels import IsolationLevel
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from broker_client.core.consumer.offset_resets import OffsetReset
    from broker_client.core.consumer.subscription_state import PartitionState, SubscriptionState
    from broker_client.core.network.client_core import ClientCore
    from broker_client.core.network.cluster import Cluster

__all__ = ["OffsetLookups"]

CONSUMER_REPLICA_ID: Final = -1
UNDEFINED: Final = -1
# From here on a leader returns epochs to clients that may read the topic; Java uses no older version.
_USABLE_FROM: Final = 3
V = TypeVar("V")
_RETRIED: Final = tuple(code for code in ErrorCode if code.retriable)


class OffsetLookups(RecordCalls):
    """Call everything on the reactor's thread."""

    def __init__(
        self,
        core: ClientCore,
        subscriptions: SubscriptionState,
        *,
        isolation_level: IsolationLevel,
        default_reset: OffsetReset | None,
    ) -> None:
        self._core = core
        self._calls = AdminCalls(core)
        self._subscriptions = subscriptions
        self._isolation_level = isolation_level
        self.default_reset = default_reset

    def _leader_epochs(self, keys: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The leader epochs of the metadata: an older leader refuses the request."""
        return {key: self._core.metadata.cluster.leader_epoch_for(key) for key in keys}

    def to_reset(self) -> dict[TopicPartition, PartitionState]:
        """The partitions whose position is to be chosen, and for which nothing is under way."""
        now_ms = now_ms_of(self._core.reactor)
        return {
            key: state
            for key, state in self._subscriptions.states.items()
            if state.reset is not None and not state.busy and state.not_before_ms <= now_ms
        }

    def to_validate(self, cluster: Cluster) -> dict[TopicPartition, PartitionState]:
        """The partitions whose leader is newer than the one that the position was checked with.

        Where nothing can be checked the new epoch is taken as it is.
        """
        found: dict[TopicPartition, PartitionState] = {}
        for key, state in self._subscriptions.states.items():
            position = state.position
            if position is None or state.busy:
                continue
            epoch = cluster.leader_epoch_for(key)
            if epoch <= position.leader_epoch:
                continue
            if position.offset_epoch != NO_EPOCH and self._can_validate(key, cluster):
                found[key] = state
            else:
                state.position = FetchPosition(
                    offset=position.offset, offset_epoch=position.offset_epoch, leader_epoch=epoch
                )
        return found

    async def reset(self, states: Mapping[TopicPartition, PartitionState]) -> None:
        """Look the positions up; raises what keeps one from being found. Those that were found are kept."""
        now_ms = now_ms_of(self._core.reactor)
        specs = {
            key: now_ms - state.reset.duration_ms if isinstance(state.reset, ByDuration) else state.reset
            for key, state in states.items()
            if state.reset is not None
        }
        for state in states.values():
            state.busy = True
        try:
            await self._reset(dict(specs), states)
        finally:
            for state in states.values():
                state.busy = False

    async def validate(self, states: Mapping[TopicPartition, PartitionState]) -> None:
        """Request the end offsets of the positions' epochs from the new leaders.

        Raises:
            LogTruncated: a position is beyond its epoch's end, and auto.offset.reset is none.
        """
        for state in states.values():
            state.busy = True
        try:
            positions = {key: state.position for key, state in states.items() if state.position is not None}
            ends, failed = await _parted(self._ends(positions))
            for key, end in ends.items():
                self._take_end(key, states[key], end)
            if failed is not None:
                raise failed
        finally:
            for state in states.values():
                state.busy = False

    async def request_end(self, key: TopicPartition, state: PartitionState) -> None:
        """Look the end of a log up for its lag; a failure leaves it unknown. Mirrors endOffsets of currentLag."""
        state.end_requested = True
        try:
            found, _ = await _parted(self.list_offsets({key: OffsetSpec.LATEST}, isolation_level=self._isolation_level))
        finally:
            state.end_requested = False
        if key not in found:
            return
        if self._isolation_level is IsolationLevel.READ_COMMITTED:
            state.last_stable_offset = found[key].offset
        else:
            state.high_watermark = found[key].offset

    # Details

    async def _reset(self, specs: dict[TopicPartition, int], states: Mapping[TopicPartition, PartitionState]) -> None:
        level = self._isolation_level
        found, failed = await _parted(self.list_offsets(specs, isolation_level=level))
        late = [key for key, one in found.items() if one.offset < 0]
        for key in [key for key in late if isinstance(states[key].reset, ByDuration)]:
            # No record is as young yet: as in Java, the look-up is repeated.
            states[key].not_before_ms = now_ms_of(self._core.reactor) + self._core.options.network.request_timeout_ms
            late.remove(key)
            del found[key]
        if late:
            # Nothing is as young as the time that was sought: what comes will be.
            latest = dict.fromkeys(late, OffsetSpec.LATEST)
            found = {key: one for key, one in found.items() if one.offset >= 0}
            ends, failed_too = await _parted(self.list_offsets(latest, isolation_level=level))
            found.update(ends)
            failed = failed or failed_too
        for key, one in found.items():
            state = states[key]
            state.reset = None
            state.position = FetchPosition(
                offset=one.offset,
                offset_epoch=one.leader_epoch,
                leader_epoch=self._core.metadata.cluster.leader_epoch_for(key),
            )
        if failed is not None:
            raise failed

    def _can_validate(self, key: TopicPartition, cluster: Cluster) -> bool:
        leader = cluster.leader_for(key)
        node = None if leader is None else self._core.client.api_versions.get(leader.id)
        if node is None:
            return leader is not None  # the request goes there, and the leader refuses what it cannot serve
        theirs = node.ranges.get(OffsetForLeaderEpochRequest.API_KEY)
        return theirs is not None and theirs.highest >= _USABLE_FROM

    async def _ends(self, positions: Mapping[TopicPartition, FetchPosition]) -> dict[TopicPartition, EpochEndOffset]:
        def build(version: int, keys: list[TopicPartition], timeout_ms: int) -> OffsetForLeaderEpochRequest:
            del version, timeout_ms
            cluster = self._core.metadata.cluster
            topics: dict[str, OffsetForLeaderTopic] = {}
            for key in keys:
                topics.setdefault(key.topic, OffsetForLeaderTopic(topic=key.topic)).partitions.append(
                    OffsetForLeaderPartition(
                        partition=key.partition,
                        current_leader_epoch=cluster.leader_epoch_for(key),
                        leader_epoch=positions[key].offset_epoch,
                    )
                )
            return OffsetForLeaderEpochRequest(replica_id=CONSUMER_REPLICA_ID, topics=list(topics.values()))

        def take(response: Any, _: list[TopicPartition], outcomes: Outcomes[TopicPartition, EpochEndOffset]) -> None:
            for topic in response.topics:
                for one in topic.partitions:
                    key = TopicPartition(topic.topic, one.partition)
                    outcomes.take(key, one.error_code, None, one, retried=_RETRIED, topic=topic.topic)

        call = ItemCall(kind=OffsetForLeaderEpochRequest, route=LEADER, build=build, take=take)
        return await self._calls.settle(list(positions), call)

    def _take_end(self, key: TopicPartition, state: PartitionState, end: EpochEndOffset) -> None:
        """Mirrors SubscriptionState.maybeCompleteValidation: a position that is being reset needs no validation."""
        position = state.position
        epoch = self._core.metadata.cluster.leader_epoch_for(key)
        if position is None:
            return
        if UNDEFINED in (end.end_offset, end.leader_epoch):
            if self.default_reset is None:
                raise LogTruncated(key, position.offset, None)
            state.position, state.reset = None, self.default_reset
        elif end.end_offset < position.offset:
            if self.default_reset is None:
                raise LogTruncated(key, position.offset, end.end_offset)
            state.position = FetchPosition(offset=end.end_offset, offset_epoch=end.leader_epoch, leader_epoch=epoch)
        else:
            state.position = FetchPosition(
                offset=position.offset, offset_epoch=position.offset_epoch, leader_epoch=epoch
            )


async def _parted(results: Awaitable[dict[TopicPartition, V]]) -> tuple[dict[TopicPartition, V], ItemsFailed | None]:
    """Return the results, and the error that names the items without one."""
    try:
        return await results, None
    except ItemsFailed as failed:
        return failed.done, failed
