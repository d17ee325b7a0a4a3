"""The consumer without threads: subscriptions, positions and records, on Deferreds. Mirrors ClassicKafkaConsumer.

A poll begins what is due (joining the group, positions, fetches) and waits until some records came or its time is
over; what is under way then continues, for the next poll to collect.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, TypeVar

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from broker_client.consumer_errors import InvalidGroupId
from broker_client.consumer_groups import NO_LISTENER, GroupMembershipOperation, OffsetAndMetadata
from broker_client.consumer_interceptors import ConsumerInterceptors
from broker_client.core.admin.records import ListedOffset, OffsetSpec
from broker_client.core.consumer.call_waits import CallWaits, PendingResult, failure_of
from broker_client.core.consumer.consumer_parts import CONSUMER_PARTS, ConsumerParts
from broker_client.core.consumer.deserializers import Deserializers, ReadRecords
from broker_client.core.consumer.fetched_batches import ConsumerRecord, FetchedBatch
from broker_client.core.consumer.fetcher import FetchOptions
from broker_client.core.consumer.metadata_checks import MetadataChecks
from broker_client.core.consumer.offset_resets import offset_reset_of
from broker_client.core.consumer.subscription_state import NO_EPOCH, FetchPosition, SubscriptionState, SubscriptionType
from broker_client.core.consumer.topic_listings import TopicListings
from broker_client.core.groups.callback_runner import run_here
from broker_client.core.metrics.consumer_metrics import ConsumerMetrics, MetricOptions
from broker_client.core.producer.sender_loop import now_ms_of
from broker_client.core.telemetry.measured_consumer import MeasuredConsumer
from broker_client.errors import ConfigError, IllegalState, ProducerError, ProducerTimeout
from broker_client.isolation_levels import IsolationLevel
from broker_client.records import TopicPartition
from protocol_specs.errors import RecordBatchError

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from twisted.python.failure import Failure

    from broker_client.consumer_groups import (
        ConsumerGroupMetadata,
        RebalanceListener,
        SubscriptionPattern,
    )
    from broker_client.core.consumer.call_waits import CallTimer
    from broker_client.core.groups.callback_runner import CallbackRunner
    from broker_client.core.groups.consumer_group import ConsumerGroup
    from broker_client.core.groups.group_options import GroupOptions
    from broker_client.core.groups.offset_commits import CommitObserver
    from broker_client.core.network.client_core import ClientCore
    from broker_client.records import PartitionInfo
    from protocol_specs.records.record_rows import RowPortion

__all__ = [
    "EARLIEST",
    "LATEST",
    "ConsumerCore",
    "ConsumerRecord",
    "FetchOptions",
    "FetchedBatch",
    "table_of",
]

T = TypeVar("T")

EARLIEST: Final = OffsetSpec.EARLIEST
LATEST: Final = OffsetSpec.LATEST
NOT_READY_WAIT_MS: Final = 100
_log = Logger()


class ConsumerCore(MeasuredConsumer):
    """Call everything but `wakeup` on the reactor's thread; one call at a time, except within callbacks.

    `core` keeps the topics of the subscription if it was made with `by_subscription`. Without `group` nothing is
    committed and nothing can be subscribed to. `run_callback` calls functions of the application.
    """

    metrics: ConsumerMetrics

    def __init__(
        self,
        core: ClientCore,
        options: FetchOptions,
        group: GroupOptions | None = None,
        *,
        run_callback: CallbackRunner = run_here,
        metrics: MetricOptions | None = None,
        interceptors: ConsumerInterceptors | None = None,
        deserializers: Deserializers | None = None,
    ) -> None:
        metrics = metrics or MetricOptions()
        self._options = options
        self._subscriptions = SubscriptionState()
        self._isolation_level = IsolationLevel.of(options.isolation_level)
        self._waits = CallWaits(core)
        self._interceptors = interceptors or ConsumerInterceptors(())
        self._deserializers = deserializers or Deserializers()
        self._run_callback = run_callback
        self.metrics = ConsumerMetrics(
            core,
            metrics,
            self._subscriptions,
            group_protocol=None if group is None else group.group_protocol,
        )
        request_timeout_ms = core.options.network.request_timeout_ms
        if options.fetch_max_wait_ms >= request_timeout_ms:
            raise ConfigError(
                f"fetch.max.wait.ms={options.fetch_max_wait_ms}: must be below request.timeout.ms, "
                f"{request_timeout_ms}, or brokers that wait for records are given up"
            )
        labels = {
            "group_id": None if group is None else group.group_id,
            "group_instance_id": None if group is None else group.group_instance_id,
            "client_rack": options.client_rack or None,
        }
        super().__init__(core, push=metrics.push, labels=labels)
        parts = core.parts if isinstance(core.parts, ConsumerParts) else CONSUMER_PARTS
        self._lookups = parts.offset_lookups(
            core,
            self._subscriptions,
            isolation_level=self._isolation_level,
            default_reset=offset_reset_of(options.auto_offset_reset),
        )
        self._positions = parts.positions(core, self._subscriptions, self._lookups, self._waits)
        self._buffer = parts.fetch_buffer(core, self._subscriptions, options, self._lookups, self.metrics.fetches)
        self._fetcher = parts.fetcher(
            core, self._subscriptions, options, self._buffer, self._waits.notify, self.metrics
        )
        self._group: ConsumerGroup | None = None
        if group is not None:
            kind = parts.broker_assigned_group if group.group_protocol == "consumer" else parts.classic_group
            assert self.metrics.coordinator is not None, "there is a group"
            self._group = kind(
                core,
                group,
                self._subscriptions,
                self._waits,
                run_callback,
                self.metrics.coordinator,
                self._interceptors,
            )
        self._metadata_checks = MetadataChecks(core, self._subscriptions)
        self._listings = TopicListings(core, self._waits)

    # Subscription and assignment

    @property
    def assignment(self) -> tuple[TopicPartition, ...]:
        """The partitions that are read."""
        return tuple(self._subscriptions.states)

    @property
    def subscription(self) -> tuple[str, ...]:
        """The topics that the consumer subscribes to."""
        return tuple(self._subscriptions.subscription)

    @property
    def paused(self) -> tuple[TopicPartition, ...]:
        """The assigned partitions that are not fetched."""
        return tuple(key for key, state in self._subscriptions.states.items() if state.paused)

    async def subscribe(self, topics: Iterable[str], listener: RebalanceListener | None = None) -> None:
        """Have the group assign partitions of these topics; no topics is `unsubscribe`.

        Raises:
            InvalidGroupId: there is no group.id.
            IllegalState: partitions were assigned by hand.
        """
        self._need_group("subscribe")
        wanted = list(dict.fromkeys(topics))
        if any(not topic.strip() for topic in wanted):
            raise IllegalState("subscribe: a topic name is empty")
        if not wanted:
            await self.unsubscribe()
            return
        if self._subscriptions.subscribe(wanted, listener or NO_LISTENER):
            self._core.metadata.keep_only(self._subscriptions.topics, all_topics=False)

    async def subscribe_pattern(self, pattern: re.Pattern[str], listener: RebalanceListener | None = None) -> None:
        """Have the group assign partitions of all topics whose whole names match.

        Raises:
            InvalidGroupId: there is no group.id.
            IllegalState: partitions were assigned by hand.
        """
        self._need_group("subscribe")
        self._subscriptions.subscribe_pattern(pattern, listener or NO_LISTENER)
        self._core.metadata.keep_only(self._subscriptions.topics, all_topics=True)

    async def subscribe_broker_pattern(
        self, pattern: SubscriptionPattern, listener: RebalanceListener | None = None
    ) -> None:
        """Have the group assign partitions of all topics that match a pattern of the broker (group.protocol=consumer).

        Raises:
            InvalidGroupId: there is no group.id.
            IllegalState: partitions were assigned by hand.
        """
        self._need_group("subscribe")
        self._subscriptions.subscribe_broker_pattern(pattern, listener or NO_LISTENER)
        self._core.metadata.keep_only((), all_topics=True)

    async def unsubscribe(self) -> None:
        """Give up all partitions, leave the group and forget the subscription.

        Raises:
            RebalanceCallbackFailed: the listener raised; the subscription is gone nevertheless.
        """
        try:
            if self._group is not None:
                await self._group.unsubscribed(self._waits.timer(self._core.options.default_api_timeout_ms))
        finally:
            self._subscriptions.unsubscribe()
            self._core.metadata.keep_only((), all_topics=False)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions, from the position of `seek`, the committed offset or auto.offset.reset.

        Replaces the assignment before.

        Raises:
            IllegalState: the consumer subscribes to topics.
        """
        if self._group is not None and self._subscriptions.type is SubscriptionType.ASSIGNED:
            self._group.assigned_by_hand()
        self._subscriptions.assign(partitions)
        self._core.metadata.keep_only(self._subscriptions.topics, all_topics=False)

    # Positions

    def seek(self, key: TopicPartition, offset: int | OffsetAndMetadata, *, leader_epoch: int | None = None) -> None:
        """Read on from `offset`; raises ProducerError for a partition that is not assigned, or a negative offset.

        `leader_epoch` is that of the record before: with it the leader checks that the log still holds that record.
        """
        if isinstance(offset, OffsetAndMetadata):
            leader_epoch, offset = offset.leader_epoch, offset.offset
        if offset < 0:
            raise ProducerError(f"cannot seek {TopicPartition.of(key)} to offset {offset}: offsets begin at 0")
        epoch = NO_EPOCH if leader_epoch is None else leader_epoch
        self._subscriptions.seek(key, FetchPosition(offset=offset, offset_epoch=epoch))

    def seek_to(self, key: TopicPartition, spec: OffsetSpec | int) -> None:
        """Read on from the beginning, the end, or the first record at a time in ms; looked up at the next poll.

        Where no record is as young as the time, from the end.
        """
        self._subscriptions.reset(key, int(spec))

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch these no more until they are resumed."""
        self._subscriptions.pause(partitions, paused=True)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch these again."""
        self._subscriptions.pause(partitions, paused=False)

    def position(self, key: TopicPartition) -> int | None:
        """The next offset to be read, None before it is known."""
        state = self._subscriptions.states.get(TopicPartition.of(key))
        return None if state is None or state.position is None else state.position.offset

    def fetched_ends(self, key: TopicPartition) -> tuple[int, int] | None:
        """The last stable offset and the high watermark that the latest response had, None before both are known."""
        state = self._subscriptions.states.get(TopicPartition.of(key))
        if state is None or state.last_stable_offset is None or state.high_watermark is None:
            return None
        return state.last_stable_offset, state.high_watermark

    async def known_position(self, key: TopicPartition, timeout_ms: int | None = None) -> int:
        """The next offset to be read, looked up if need be; raises ProducerTimeout."""
        timer = self._timer(timeout_ms)
        while True:
            state = self._subscriptions.of(key)
            if state.position is not None:
                return state.position.offset
            self._raise_failure()
            await self._positions.update(self._group, timer)
            if timer.is_expired:
                raise ProducerTimeout(f"no position of {key} after {timer.timeout_ms} ms", "default.api.timeout.ms")
            if state.position is None:
                await self._waits.event(timer.left_ms)

    async def offsets(self, partitions: Iterable[TopicPartition], timestamp: int) -> dict[TopicPartition, int]:
        """ListOffsets for EARLIEST, LATEST or a time in milliseconds; -1 where no record is that young."""
        found = await self.offsets_for_times(dict.fromkeys((TopicPartition.of(key) for key in partitions), timestamp))
        return {key: one.offset for key, one in found.items()}

    async def offsets_for_times(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, ListedOffset]:
        """The first record at or after a time in ms of each partition, as the isolation level sees them."""
        return await self._lookups.list_offsets(times, isolation_level=self._isolation_level)

    def current_lag(self, key: TopicPartition) -> int | None:
        """The records from the position to the end of the log; None while one is unknown, which requests the end."""
        state = self._subscriptions.of(key)
        read_committed = self._isolation_level is IsolationLevel.READ_COMMITTED
        lag = state.lag(read_committed=read_committed)
        is_end_unknown = state.end_of_log(read_committed=read_committed) is None and not state.end_requested
        if is_end_unknown and self._core.metadata.cluster.leader_for(TopicPartition.of(key)) is not None:
            Deferred.fromCoroutine(self._lookups.request_end(TopicPartition.of(key), state)).addErrback(_log_lookup)
        return lag

    # Topics

    async def partitions_for(self, topic: str, timeout_ms: int | None = None) -> list[PartitionInfo]:
        """The partitions of a topic, none if it does not exist; raises ProducerTimeout and the errors of the topic."""
        known = self._core.metadata.cluster.topics.get(topic)
        if known is not None and known.partitions:
            return list(known.partitions)
        return (await self._listings.list([topic], self._timer(timeout_ms))).get(topic, [])

    async def list_topics(self, timeout_ms: int | None = None) -> dict[str, list[PartitionInfo]]:
        """The partitions of all topics; raises ProducerTimeout."""
        return await self._listings.list(None, self._timer(timeout_ms))

    # Commits

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None, timeout_ms: int | None = None
    ) -> None:
        """Commit offsets, by default all positions, and wait.

        Raises:
            InvalidGroupId: there is no group.id.
            CommitFailed: the member is no longer part of the group.
            RebalanceInProgress: the group rebalances; poll, then commit again.
            ProducerTimeout: no coordinator has responded in time.
        """
        group = self._need_group("commit")
        timer = self._timer(timeout_ms)
        wanted = self._subscriptions.consumed() if offsets is None else _named(offsets)
        began_s = self._core.reactor.seconds()
        try:
            done = await group.commit(wanted, timer)
        finally:
            self.metrics.commit_sync.since(began_s)
        if not done:
            names = ", ".join(str(key) for key in wanted)
            raise ProducerTimeout(f"the offsets of {names} were not committed within {timer.timeout_ms} ms", "timeout")

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        callback: Callable[..., object] | None = None,
    ) -> None:
        """Send a commit of offsets, by default of all positions; a later call calls `callback(offsets, error)`.

        Raises:
            InvalidGroupId: there is no group.id.
        """
        group = self._need_group("commit")
        group.commit_async(self._subscriptions.consumed() if offsets is None else _named(offsets), callback)

    def observe_automatic_commits(self, observer: CommitObserver | None) -> None:
        """Show the commits of enable.auto.commit to an observer from now on; without a group there are none."""
        if self._group is not None:
            self._group.observe_automatic_commits(observer)

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the committed offsets of the group; None for partitions without one.

        Raises:
            InvalidGroupId: there is no group.id.
            ProducerTimeout: no coordinator has responded in time.
        """
        group = self._need_group("committed")
        timer = self._timer(timeout_ms)
        wanted = [TopicPartition.of(key) for key in partitions]
        began_s = self._core.reactor.seconds()
        try:
            found = await group.fetch_committed(wanted, timer)
        finally:
            self.metrics.committed.since(began_s)
        if found is None:
            names = ", ".join(str(key) for key in wanted)
            raise ProducerTimeout(
                f"no committed offsets of {names} within {timer.timeout_ms} ms", "default.api.timeout.ms"
            )
        return {key: found.get(key) for key in wanted}

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Return the membership, for offsets that a transaction commits.

        Raises:
            InvalidGroupId: there is no group.id.
        """
        return self._need_group("group_metadata").metadata

    def enforce_rebalance(self, reason: str = "rebalance enforced by user") -> None:
        """Join the group again at the next poll (KIP-568)."""
        self._need_group("enforce_rebalance").enforce_rebalance(reason)

    # Reading

    async def poll(self, timeout_ms: int) -> list[ConsumerRecord]:
        """Returns up to max.poll.records records, in offset order per partition; none after `timeout_ms`.

        Raises:
            ProducerError: the next batch cannot be decoded; the position stays before it.
        """
        read = self.records_of(await self.poll_portions(timeout_ms))
        if read.error is not None:
            self.move_back(read)
        return self.intercepted(read.records)

    async def poll_portions(self, timeout_ms: int) -> list[RowPortion]:
        """As `poll`; `records_of` makes the records, on any thread."""
        return await self._poll(timeout_ms, lambda: self._buffer.take_records(self._options.max_poll_records))

    def records_of(self, portions: Iterable[RowPortion]) -> ReadRecords:
        """Return the deserialized records of all portions; `move_back` those that cannot be."""
        records: list[ConsumerRecord] = []
        for portion in portions:
            records += portion.rows()
        return self._deserializers.read(records)

    def move_back(self, read: ReadRecords) -> None:
        """Move the positions back to the records that were not deserialized; they are fetched again.

        Raises:
            RecordDeserializationError: there is no record before the one that cannot be deserialized.
        """
        for record in reversed(read.unread):  # the first record of a partition decides
            key = TopicPartition(record.topic, record.partition)
            if key in self._subscriptions.states:
                self._subscriptions.seek(key, FetchPosition(offset=record.offset))
        if read.error is not None and not read.records:
            raise read.error

    def intercepted(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        """Return the records as the interceptors return them; on any thread."""
        return self._interceptors.on_consume(records) if self._interceptors else records

    async def poll_batch(self, timeout_ms: int) -> Any:
        """All fetched records as an Arrow table, read by the column: see fetched_table.SCHEMA."""
        batches = await self.poll_batches(timeout_ms)
        try:
            return table_of(batches)
        except RecordBatchError as error:
            return table_of(self.readable(batches, error))

    async def poll_batches(self, timeout_ms: int) -> list[FetchedBatch]:
        """As `poll_batch`; `table_of` makes the table, on any thread."""
        if self._interceptors:
            raise IllegalState("poll_batch: interceptor.classes receive records one by one, read with poll")
        if self._deserializers:
            raise IllegalState("poll_batch: deserializers receive records one by one, read with poll")
        return await self._poll(timeout_ms, self._buffer.take_batches)

    def readable(self, batches: list[FetchedBatch], error: RecordBatchError) -> list[FetchedBatch]:
        """Return the batches before the first that cannot be decoded; positions move back to that one.

        Raises:
            ProducerError: the first one cannot be decoded.
        """
        decoded = list(takewhile(_is_readable, batches))
        failed, *_ = rest = batches[len(decoded) :]
        resume = {batch.topic_partition: batch.next_offset for batch in decoded}
        for batch in reversed(rest):  # the first batch of a partition decides
            key = batch.topic_partition
            self._subscriptions.seek(key, FetchPosition(offset=resume.get(key, batch.position)))
        if decoded:
            return decoded
        raise ProducerError(
            f"a batch of {failed.topic_partition} at offset {failed.position} or later cannot be read: {error}"
        ) from error

    def wakeup(self) -> None:
        """End the current call, or the next one that waits, with WakeupError."""
        self._waits.wakeup()

    async def close(
        self,
        timeout_ms: int,
        *,
        group_membership: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> None:
        """Commit if enable.auto.commit is set, call the listener and leave the group.

        Raises:
            RebalanceCallbackFailed: the listener raised.
        """
        self._waits.wakeups_disabled = True
        timer = self._waits.timer(timeout_ms)
        self.prepare_last_push(timeout_ms)
        failure = None if self._group is None else await failure_of(self._group.close(timer, group_membership))
        closing = [PendingResult.of(one, self._waits) for one in self._fetcher.close_sessions()]
        await self._waits.until(lambda: all(one.is_done for one in closing), timer)
        self._core.push_last_metrics()
        if self._interceptors:
            await self._run_callback(self._interceptors.close)
        if failure is not None:
            raise failure

    # Details

    def _timer(self, timeout_ms: int | None) -> CallTimer:
        return self._waits.timer(self._core.options.default_api_timeout_ms if timeout_ms is None else timeout_ms)

    def _need_group(self, call: str) -> ConsumerGroup:
        if self._group is None:
            raise InvalidGroupId(f"{call} needs a consumer group: set group.id")
        return self._group

    async def _poll(self, timeout_ms: int, take: Callable[[], list[T]]) -> list[T]:
        if self._subscriptions.has_none:
            raise IllegalState("nothing is assigned: subscribe to topics or assign partitions before polling")
        self.metrics.poll_began()
        try:
            return await self._take_until(self._waits.timer(timeout_ms), take)
        finally:
            self.metrics.poll_ended()

    async def _take_until(self, timer: CallTimer, take: Callable[[], list[T]]) -> list[T]:
        while True:
            self._waits.check_wakeup()
            self._raise_failure()
            taken = take() if self._group is None else []
            ready = True
            if not taken:
                ready = await self._prepare(timer)
                taken = take()
            again_ms = self._fetch(timer.left_ms, at_once=bool(taken))  # decoding takes a while
            if taken or timer.is_expired:
                return taken
            if self._group is not None:
                again_ms = min(again_ms, self._group.next_due_ms())
            await self._waits.event(min(timer.left_ms, again_ms if ready else NOT_READY_WAIT_MS))

    async def _prepare(self, timer: CallTimer) -> bool:
        """Join the group and choose positions; return False if that has to be tried again soon."""
        self._metadata_checks.check()
        if self._group is not None and not await self._group.poll(timer):
            return False
        if self._core.metadata.cluster.is_bootstrap:
            return True  # an event follows
        return await self._positions.update(self._group, timer)

    def _fetch(self, left_ms: int, *, at_once: bool) -> int:
        """Send fetches; return the milliseconds until there may be more to send."""
        metadata = self._core.metadata
        cluster = metadata.cluster
        if cluster.is_bootstrap:
            return left_ms
        if self._fetcher.send_fetches(cluster, at_once=at_once):
            metadata.request_update()
        now_ms = now_ms_of(self._core.reactor)
        again = [state.not_before_ms - now_ms for state in self._subscriptions.states.values()]
        return min((wait_ms for wait_ms in again if wait_ms > 0), default=left_ms)

    def _raise_failure(self) -> None:
        self._fetcher.raise_failure()
        self._positions.raise_failure()
        self._metadata_checks.raise_failure()


def _log_lookup(failure: Failure) -> None:
    _log.info("consumer: the end of a log is unknown error={error}", error=failure.value)


def _named(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> dict[TopicPartition, OffsetAndMetadata]:
    for key, one in offsets.items():
        if one.offset < 0:
            raise IllegalState(f"cannot commit offset {one.offset} of {TopicPartition.of(key)}: offsets begin at 0")
    return {TopicPartition.of(key): one for key, one in offsets.items()}


def table_of(batches: Sequence[FetchedBatch]) -> Any:
    """Return the records of all batches as an Arrow table. Raises RecordBatchError."""
    from broker_client.core.consumer.fetched_table import table_of  # only who reads tables needs pyarrow and numpy

    return table_of(batches)


def _is_readable(batch: FetchedBatch) -> bool:
    try:
        batch.records()
    except RecordBatchError:
        return False
    return True
