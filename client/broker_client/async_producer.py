"""The producer for programs on asyncio: a guest on the running event loop, without a thread. Mirrors KafkaProducer.

    async with AsyncProducer(bootstrap_servers="localhost:9092", acks="all") as producer:
        place = await producer.send_and_wait("orders", b"value", key=b"key")
        future = await producer.send("orders", b"another")
        print(place.offset, (await future).offset)

`await send` ends when the record is appended, for which it waits at most max.block.ms; the future that it answers ends
when the record is acknowledged. A `send` that is cancelled has appended nothing; cancelling the future, or a task that
awaits it, takes nothing back. Everything else is as with `Producer`; `on_delivery` is called on the loop.
"""

from __future__ import annotations

import asyncio
import atexit
import os
from asyncio import get_running_loop
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self, cast

from twisted.internet.defer import Deferred

from broker_client.api_options import GRACE_MS, LONGEST_WAIT_MS, fresh_random, longest_wait_ms, with_client_id
from broker_client.async_futures import AsyncFutures
from broker_client.async_signal import AsyncSignal
from broker_client.core.producer.future_record_metadata import DeliveryCallback, FutureRecordMetadata
from broker_client.core.producer.producer_core import NO_HEADERS, ProducerCore, WaitFor
from broker_client.core.producer.wait_for_room import WaitForRoom, WaitingRecord, WaitingTable
from broker_client.core.transactions.transactional_calls import REFUSALS
from broker_client.errors import (
    IllegalState,
    ProducerClosed,
    ProducerError,
    ProducerForked,
    SerializationError,
    WaitExpired,
)
from broker_client.exit_warnings import warn_at_exit, warn_of_given_up
from broker_client.interceptors import InterceptedRecord
from broker_client.process_forks import forks
from broker_client.producer_config import ProducerConfig
from broker_client.record_values import checked_headers, serialized
from sim_runtime.asyncio_reactor import AsyncioReactor, LoopCannotWatch

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Coroutine, Mapping
    from types import TracebackType

    from broker_client.consumer_groups import ConsumerGroupMetadata, OffsetAndMetadata
    from broker_client.core.batching.columnar_send import ColumnarSend
    from broker_client.core.producer.future_table import FutureTable
    from broker_client.core.producer.trace import Trace
    from broker_client.metrics import MetricsSnapshot
    from broker_client.record_values import GivenHeaders
    from broker_client.records import Headers, PartitionInfo, RecordMetadata, TopicPartition
    from sim_runtime.interfaces import IReactor

__all__ = ["AsyncProducer"]

# What is queued gets this long when the block of an `async with` is cancelled.
CANCELLED_CLOSE_S: Final = 5.0


class AsyncProducer:
    """For one event loop. `close` it, or use it in an `async with`. It begins with `start`, or its first use."""

    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        *,
        trace: Trace | None = None,
        random: random.Random | None = None,
        **options: object,
    ) -> None:
        self.config = ProducerConfig(with_client_id(config, options))
        self._key_serializer = self.config.key_serializer
        self._value_serializer = self.config.value_serializer
        self._max_block_ms = min(self.config.number("max.block.ms"), LONGEST_WAIT_MS)
        self._trace = trace
        self._random = random if random is not None else fresh_random()
        self._forks = forks.count
        self._pid = os.getpid()
        self._closed = False
        self._starting = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._core: ProducerCore
        self._reactor: AsyncioReactor
        self._room: WaitForRoom
        self._futures: AsyncFutures
        self._at_exit: Callable[[], None]
        self._turn_is_due = False
        self._giving_way = 0
        self._interceptors = self.config.interceptors or None

    async def start(self) -> None:
        """Begin on the running loop; the first use does it too."""
        loop = get_running_loop()
        async with self._starting:
            if self._loop is not None or self._closed:
                return
            if self.config.text("client.dns.lookup") == "resolve_canonical_bootstrap_servers_only":
                await loop.run_in_executor(None, self.config.resolve_canonical_names)
            try:
                self._reactor = AsyncioReactor(loop)
            except LoopCannotWatch as error:
                raise IllegalState(f"cannot start: {error}") from None
            self._core = ProducerCore(
                self.config,
                cast("IReactor", self._reactor),
                self._random,
                call_from_thread=partial(self._call_soon, loop),
                trace=self._trace,
            )
            self._room = WaitForRoom(self._core, lambda: AsyncSignal(loop))
            self._futures = AsyncFutures(loop)
            self._at_exit = warn_at_exit(self._core)
            self._loop = loop

    async def send(
        self,
        topic: str,
        value: object = None,
        key: object = None,
        partition: int | None = None,
        headers: GivenHeaders = NO_HEADERS,
        timestamp_ms: int | None = None,
        on_delivery: DeliveryCallback | None = None,
    ) -> asyncio.Future[RecordMetadata]:
        """Append a record; answers its future."""
        intercepted: InterceptedRecord | None = None
        if self._interceptors is not None:
            intercepted = InterceptedRecord(
                self._interceptors, topic, value, key, partition, headers, timestamp_ms, on_delivery
            )
            topic, value, key, partition, headers, timestamp_ms, on_delivery = intercepted.arguments()
        try:
            if self._closed or forks.count != self._forks:
                self._refuse("send")
            if self._loop is not get_running_loop():
                await self._ready("send")
            if (type(value) is not bytes and value is not None) or self._value_serializer is not None:
                value = serialized("value", value, self._value_serializer, topic)
            if (type(key) is not bytes and key is not None) or (self._key_serializer is not None and key is not None):
                key = serialized("key", key, self._key_serializer, topic)
            checked: Headers = NO_HEADERS if headers is NO_HEADERS else checked_headers(headers)
        except ProducerError as error:
            if intercepted is not None:
                intercepted.refused(error)
            raise
        if self._turn_is_due or self._giving_way:
            await self._give_way()
        core = self._core
        try:
            record = core.try_append(topic, partition, timestamp_ms, key, value, checked, on_delivery)
            if isinstance(record, WaitFor):
                record = await self._append_later(topic, partition, timestamp_ms, key, value, checked, on_delivery)
        except (*REFUSALS, SerializationError) as error:
            if intercepted is not None:
                intercepted.refused(error)
            raise
        except ProducerError as error:
            core.send_failed(error)
            record = FutureRecordMetadata.failed(topic, error, on_delivery)
        return self._futures.of(record) if on_delivery is None else self._futures.heard(record)

    async def send_and_wait(
        self,
        topic: str,
        value: object = None,
        key: object = None,
        partition: int | None = None,
        headers: GivenHeaders = NO_HEADERS,
        timestamp_ms: int | None = None,
    ) -> RecordMetadata:
        """Send a record and wait until it is acknowledged; raises its error."""
        return await (await self.send(topic, value, key, partition, headers, timestamp_ms))

    async def send_batch(self, topic: str, table: Any) -> asyncio.Future[Any]:
        """As Producer.send_batch; ends when all rows are appended, and answers the future of their table.

        When it is cancelled, the rows that were not appended yet are not sent.
        """
        await self._ready("send_batch")
        sending = self._core.columnar_send(topic, table)
        try:
            await self._send_table(sending)
        except REFUSALS as error:
            sending.fail(error)
            raise
        except ProducerError as error:
            self._core.send_failed(error)
            sending.fail(error)
        except BaseException:
            sending.fail(ProducerClosed("the row was not sent: its send_batch was cancelled"))
            raise
        future: asyncio.Future[Any] = get_running_loop().create_future()
        sending.future.add_done_callback(partial(_settle_table, future))
        return future

    async def init_transactions(self) -> None:
        """As Producer.init_transactions.

        What a transactional call began goes on when the call is cancelled; then only the same call may be made again.
        """
        await self._transactional_call("init_transactions", lambda core: core.transactional.init_transactions())

    async def begin_transaction(self) -> None:
        """Every record sent from now on is part of the transaction."""
        await self._ready("begin_transaction")
        self._core.transactional.begin_transaction()

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], group: ConsumerGroupMetadata | str
    ) -> None:
        """Commit a consumer's offsets, the next to be consumed, with the transaction."""
        await self._transactional_call(
            "send_offsets_to_transaction",
            lambda core: core.transactional.send_offsets_to_transaction(offsets, group),
        )

    async def commit_transaction(self) -> None:
        """Send what there is, await all acknowledgements, commit; raises what failed a record before."""
        await self._transactional_call("commit_transaction", lambda core: core.transactional.commit_transaction())

    async def abort_transaction(self) -> None:
        """Fail what was not sent yet, await the rest, abort; the only way on after an abortable error."""
        await self._transactional_call("abort_transaction", lambda core: core.transactional.abort_transaction())

    async def flush(self, timeout: float | None = None) -> None:
        """Send what was appended so far without lingering and wait for its end, at most `timeout` seconds."""
        await self._ready("flush")
        limit_s = longest_wait_ms(self.config) / 1000 if timeout is None else timeout
        await self._awaited("flush", self._core.flush(), limit_s, "flush(timeout)")

    async def partitions_for(self, topic: str) -> list[PartitionInfo]:
        """The topic's partitions; waits at most max.block.ms for them."""
        await self._ready("partitions_for")
        partitions: list[PartitionInfo] = await self._awaited(
            "partitions_for", self._core.partitions_for(topic), (self._max_block_ms + GRACE_MS) / 1000, "max.block.ms"
        )
        return partitions

    def metrics(self) -> MetricsSnapshot:
        """As Producer.metrics; raises before the producer has begun."""
        if self._loop is None:
            raise IllegalState("cannot tell metrics: the producer has not begun, which start() or a first send does")
        return self._core.metrics.read()

    async def client_instance_id(self, timeout: float) -> str | None:
        """What brokers call this client by, for its metrics (KIP-714); None when `timeout` seconds do not do."""
        await self._ready("client_instance_id")
        told: str | None = await self._awaited(
            "client_instance_id",
            self._core.client_instance_id(int(timeout * 1000)),
            timeout + GRACE_MS / 1000,
            "client_instance_id(timeout)",
        )
        return told

    def unacknowledged_records(self) -> int:
        """How many records were appended and have not ended."""
        return 0 if self._loop is None else self._core.accumulator.unacknowledged_records()

    async def close(self, timeout: float | None = None) -> None:
        """Send what there is, at most `timeout` seconds (None: as long as it may take), fail the rest.

        When it is cancelled, it fails the rest at once.
        """
        if forks.count != self._forks:
            self._refuse("close")
        began_here = not self._closed
        self._closed = True
        if self._loop is None:
            if began_here:
                self.config.interceptors.close()
            return
        self._check_loop("close")
        timeout_ms = longest_wait_ms(self.config) if timeout is None else int(timeout * 1000)
        try:
            await self._core.close(timeout_ms).asFuture(self._loop)
            await self._reactor.close()
        except BaseException:
            self._core.close(0).addCallback(lambda _: self._reactor.end())
            raise
        finally:
            if began_here:
                atexit.unregister(self._at_exit)
                self.config.interceptors.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error_type is not None and issubclass(error_type, GeneratorExit):
            return  # a coroutine that is thrown away cannot wait; the end of the process tells what was left
        if error_type is None or not issubclass(error_type, (KeyboardInterrupt, asyncio.CancelledError)):
            await self.close()
            return
        if issubclass(error_type, KeyboardInterrupt) or self._closed or self._loop is None:
            await self.close(0)
            return
        left = self._core.accumulator.incomplete_batches()
        await self.close(CANCELLED_CLOSE_S)
        given_up = sum(batch.record_count for batch in left if batch.result.error_of_record is not None)
        why = f"their block was cancelled {CANCELLED_CLOSE_S} s ago; close(timeout) before its end gives them longer"
        warn_of_given_up(self._core, given_up, why)

    # Details

    async def _append_later(
        self,
        topic: str,
        partition: int | None,
        timestamp_ms: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        on_delivery: DeliveryCallback | None,
    ) -> FutureRecordMetadata:
        """Wait for metadata and memory, max.block.ms in all."""
        record = WaitingRecord(
            topic=topic,
            partition=partition,
            timestamp_ms=timestamp_ms,
            key=key,
            value=value,
            headers=headers,
            on_delivery=on_delivery,
            deadline_s=self._core.reactor.seconds() + self._max_block_ms / 1000,
        )
        await self._room.append(record)
        assert record.future is not None
        return record.future

    async def _send_table(self, sending: ColumnarSend) -> None:
        """Wait for metadata and memory, max.block.ms for each part."""
        deadline_s = self._core.reactor.seconds() + self._max_block_ms / 1000
        await self._room.append(WaitingTable(sending=sending, max_block_ms=self._max_block_ms, deadline_s=deadline_s))

    async def _give_way(self) -> None:
        """Let what is full be sent before more is appended; who came first goes on first."""
        self._giving_way += 1
        try:
            await asyncio.sleep(0)
        finally:
            self._giving_way -= 1

    def _call_soon(self, loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
        self._turn_is_due = True
        loop.call_soon(self._take_turn, function)

    def _take_turn(self, function: Callable[[], None]) -> None:
        self._turn_is_due = False
        function()

    async def _transactional_call(
        self, name: str, call: Callable[[ProducerCore], Coroutine[Deferred[Any], Any, None]]
    ) -> None:
        await self._ready(name)
        await self._awaited(name, call(self._core), (self._max_block_ms + GRACE_MS) / 1000, "max.block.ms")

    async def _awaited(
        self, name: str, coroutine: Coroutine[Deferred[Any], Any, Any], limit_s: float, option: str
    ) -> Any:
        """What the core's coroutine answers; it is cancelled when its caller is, or is late."""
        deferred = Deferred.fromCoroutine(coroutine)
        future = deferred.asFuture(get_running_loop())
        try:
            await asyncio.wait((future,), timeout=limit_s)
        finally:
            late = not future.done()
            if late:
                future.cancel()
                deferred.cancel()
        if late:
            raise WaitExpired(f"{name} is not done after {limit_s:g} s", option)
        return future.result()

    async def _ready(self, name: str) -> None:
        """Begin when it has not; raises when it cannot be used here and now."""
        if self._closed or forks.count != self._forks:
            self._refuse(name)
        if self._loop is None:
            await self.start()
            if self._closed:
                self._refuse(name)
        self._check_loop(name)

    def _check_loop(self, name: str) -> None:
        if self._loop is not get_running_loop():
            raise IllegalState(
                f"cannot {name}: the producer is on another event loop than the one that runs here; "
                "an AsyncProducer is for the loop that it began on: make one in each asyncio.run, and in each thread"
            )

    def _refuse(self, name: str) -> None:
        if forks.count != self._forks:
            raise ProducerForked(
                f"cannot {name}: the producer was made in process {self._pid}, this is process {os.getpid()}, "
                "and its connections are that one's; make a producer after the fork"
            )
        raise ProducerClosed(f"cannot {name}: the producer is closed")


def _settle_table(future: asyncio.Future[Any], table: FutureTable) -> None:
    if not future.done():
        future.set_result(table.result(0))
