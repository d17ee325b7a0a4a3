"""Reading assigned partitions, on Deferreds. Mirrors KafkaConsumer without groups: assign, seek, poll.

A poll begins what is due (positions to choose or to check, fetches) and waits until some records came or its time is
over; what is under way then is left so, for the next poll to collect.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, TypeVar

from twisted.internet.defer import Deferred

from broker_client.consumer_errors import NoOffsetForPartition
from broker_client.core.admin.records import ListedOffset, OffsetSpec
from broker_client.core.consumer.fetched_batches import ConsumerRecord, FetchedBatch
from broker_client.core.consumer.fetcher import Fetcher, FetchOptions, producer_error
from broker_client.core.consumer.offset_lookups import OffsetLookups
from broker_client.core.consumer.subscription_state import NO_EPOCH, FetchPosition, SubscriptionState
from broker_client.core.producer.sender_loop import now_ms_of
from broker_client.errors import (
    ConfigError,
    InvalidTopic,
    ProducerClosed,
    ProducerError,
    ProducerTimeout,
    TopicAuthorizationFailed,
)
from broker_client.isolation_levels import IsolationLevel
from broker_client.records import TopicPartition
from protocol_specs.errors import RecordBatchError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping

    from twisted.python.failure import Failure

    from broker_client.core.network.client_core import ClientCore
    from broker_client.core.network.cluster import Cluster

__all__ = ["EARLIEST", "LATEST", "ConsumerCore", "ConsumerRecord", "FetchOptions", "FetchedBatch"]

T = TypeVar("T")

EARLIEST: Final = OffsetSpec.EARLIEST
LATEST: Final = OffsetSpec.LATEST
_RESETS: Final = {"earliest": OffsetSpec.EARLIEST, "latest": OffsetSpec.LATEST, "none": None}


class ConsumerCore:
    """Call everything on the reactor's thread; one poll at a time."""

    def __init__(self, core: ClientCore, options: FetchOptions) -> None:
        self._core = core
        self._subscriptions = SubscriptionState()
        self._isolation_level = IsolationLevel.of(options.isolation_level)
        self._options = options
        request_timeout_ms = core.options.network.request_timeout_ms
        if options.fetch_max_wait_ms >= request_timeout_ms:
            raise ConfigError(
                f"fetch.max.wait.ms={options.fetch_max_wait_ms}: must be below request.timeout.ms, "
                f"{request_timeout_ms}, or brokers that wait for records are given up"
            )
        self._lookups = OffsetLookups(
            core,
            self._subscriptions,
            isolation_level=self._isolation_level,
            default_reset=_RESETS[options.auto_offset_reset],
        )
        self._fetcher = Fetcher(core, self._subscriptions, options, self._lookups, self._on_event)
        self._failure: ProducerError | None = None
        self._waiting: Deferred[None] | None = None
        self._unanswered_since_ms: int | None = None

    @property
    def assignment(self) -> tuple[TopicPartition, ...]:
        """The partitions that are read."""
        return tuple(self._subscriptions.states)

    @property
    def paused(self) -> tuple[TopicPartition, ...]:
        """Those of them that are not fetched."""
        return tuple(key for key, state in self._subscriptions.states.items() if state.paused)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions, from the position of `seek` or auto.offset.reset; replaces the assignment before."""
        self._subscriptions.assign(partitions)

    def seek(self, key: TopicPartition, offset: int, *, leader_epoch: int | None = None) -> None:
        """Read on from `offset`; raises ProducerError for a partition that is not assigned, or a negative offset.

        `leader_epoch` is that of the record before: with it the leader checks that the log still holds that record.
        """
        if offset < 0:
            raise ProducerError(f"cannot seek {TopicPartition(*key)} to offset {offset}: offsets begin at 0")
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
        state = self._subscriptions.states.get(TopicPartition(*key))
        return None if state is None or state.position is None else state.position.offset

    async def known_position(self, key: TopicPartition) -> int:
        """The next offset to be read, looked up if need be; raises ProducerTimeout."""
        limit_ms = self._core.options.default_api_timeout_ms
        deadline_ms = now_ms_of(self._core.reactor) + limit_ms
        while True:
            state = self._subscriptions.of(key)
            if state.position is not None:
                return state.position.offset
            self._raise_failure()
            left_ms = deadline_ms - now_ms_of(self._core.reactor)
            if left_ms <= 0:
                raise ProducerTimeout(f"no position of {key} after {limit_ms} ms", "default.api.timeout.ms")
            self._begin_resets()
            await self._event(left_ms)

    async def offsets(self, partitions: Iterable[TopicPartition], timestamp: int) -> dict[TopicPartition, int]:
        """ListOffsets for EARLIEST, LATEST or a time in milliseconds; -1 where no record is that young."""
        found = await self.offsets_for_times(dict.fromkeys((TopicPartition(*key) for key in partitions), timestamp))
        return {key: one.offset for key, one in found.items()}

    async def offsets_for_times(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, ListedOffset]:
        """The first record at or after a time in ms of each partition, as the isolation level sees them."""
        return await self._lookups.list_offsets(times, isolation_level=self._isolation_level)

    async def poll(self, timeout_ms: int) -> list[ConsumerRecord]:
        """Returns records of the assigned partitions, in offset order per partition; none after `timeout_ms`.

        Raises:
            ProducerError: the next batch cannot be decoded; the position stays before it.
        """
        return await self._read(timeout_ms, lambda batches: [record for batch in batches for record in batch.records()])

    async def poll_table(self, timeout_ms: int) -> Any:
        """The same as an Arrow table, read by the column: see fetched_table.SCHEMA."""
        from broker_client.core.consumer.fetched_table import table_of  # only who reads tables needs pyarrow and numpy

        return await self._read(timeout_ms, table_of)

    # Details

    async def _read(self, timeout_ms: int, decode: Callable[[list[FetchedBatch]], T]) -> T:
        """Decode what a poll fetched, up to the first batch that cannot be decoded; positions stay before that one."""
        batches = await self._poll_batches(timeout_ms)
        try:
            return decode(batches)
        except RecordBatchError as error:
            decoded = list(takewhile(_is_readable, batches))
            failed, *_ = rest = batches[len(decoded) :]
            resume = {batch.topic_partition: record.offset + 1 for batch in decoded for record in batch.records()}
            for batch in reversed(rest):  # the first batch of a partition decides
                key = batch.topic_partition
                offset = resume.get(key, batch.position)
                self._subscriptions.seek(key, FetchPosition(offset=offset))
            if decoded:
                return decode(decoded)
            raise ProducerError(
                f"a batch of {failed.topic_partition} at offset {failed.position} or later cannot be read: {error}"
            ) from error

    async def _poll_batches(self, timeout_ms: int) -> list[FetchedBatch]:
        if not self._subscriptions.states:
            raise ProducerError("nothing is assigned: assign partitions before polling")
        reactor = self._core.reactor
        deadline_ms = now_ms_of(reactor) + timeout_ms
        while True:
            self._raise_failure()
            batches = self._fetcher.collect()
            left_ms = deadline_ms - now_ms_of(reactor)
            if batches:
                return batches
            again_ms = self._begin(max(left_ms, 0))
            if left_ms <= 0:
                return []
            await self._event(min(left_ms, again_ms))

    def _begin(self, left_ms: int) -> int:
        """Start what is due; return the milliseconds until there may be more."""
        metadata = self._core.metadata
        now_ms = now_ms_of(self._core.reactor)
        for key in self._subscriptions.states:
            metadata.add(key.topic, now_ms)
        cluster = metadata.cluster
        if cluster.is_bootstrap:
            self._expect_metadata(now_ms)
            metadata.request_update()
            return left_ms
        self._unanswered_since_ms = None
        self._refuse_topics(cluster)
        self._begin_resets()
        outdated = self._lookups.to_validate(cluster)
        if outdated:
            self._run(self._lookups.validate(outdated))
        if self._fetcher.send_fetches(cluster, min(left_ms, self._options.fetch_max_wait_ms)):
            metadata.request_update()
        again = [state.not_before_ms - now_ms for state in self._subscriptions.states.values()]
        return min((wait_ms for wait_ms in again if wait_ms > 0), default=left_ms)

    def _begin_resets(self) -> None:
        for key, state in self._subscriptions.states.items():
            if state.position is None and state.reset is None:
                if self._lookups.default_reset is None:
                    raise NoOffsetForPartition(key)
                state.reset = self._lookups.default_reset
        unknown = self._lookups.to_reset()
        if unknown:
            self._run(self._lookups.reset(unknown))

    def _run(self, task: Coroutine[Any, Any, None]) -> None:
        """Let a look-up run on; what it raises is raised by the next call that waits for it."""

        def failed(failure: Failure) -> None:
            self._failure = producer_error(failure)

        running = Deferred.fromCoroutine(task)
        running.addErrback(failed)
        running.addCallback(lambda _: self._on_event())

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is None:
            failure = self._core.metadata.take_fatal_error()
        if failure is not None:
            raise failure
        if self._core.metadata.closed:
            raise ProducerClosed("the consumer is closed")

    def _expect_metadata(self, now_ms: int) -> None:
        """Raise ProducerTimeout once no broker has responded within default.api.timeout.ms."""
        if self._unanswered_since_ms is None:
            self._unanswered_since_ms = now_ms
        limit_ms = self._core.options.default_api_timeout_ms
        if now_ms - self._unanswered_since_ms >= limit_ms:
            self._unanswered_since_ms = None
            problems = "; ".join(self._core.client.connection_problems())
            text = f"no metadata from bootstrap.servers after {limit_ms} ms"
            raise ProducerTimeout(f"{text} ({problems})" if problems else text, "default.api.timeout.ms")

    def _refuse_topics(self, cluster: Cluster) -> None:
        for key in self._subscriptions.states:
            if key.topic in cluster.unauthorized_topics:
                raise TopicAuthorizationFailed(key.topic)
            if key.topic in cluster.invalid_topics:
                raise InvalidTopic(key.topic)

    def _on_event(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)

    def _event(self, limit_ms: int) -> Deferred[None]:
        """Fire at the next response or metadata update, at the latest after `limit_ms`."""
        waiting: Deferred[None] = Deferred()
        self._waiting = waiting
        timer = self._core.reactor.callLater(max(limit_ms, 1) / 1000, self._on_event)

        def end(_: None) -> None:
            if timer.active():
                timer.cancel()
            self._core.metadata.forget(self._on_event)

        waiting.addCallback(end)
        self._core.metadata.on_change(self._on_event)
        self._core.wakeup()
        return waiting


def _is_readable(batch: FetchedBatch) -> bool:
    try:
        for _ in batch.records():
            pass
    except RecordBatchError:
        return False
    return True
