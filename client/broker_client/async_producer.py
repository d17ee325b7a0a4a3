"""The producer for programs on asyncio: it runs on the caller's event loop, without a thread. Mirrors KafkaProducer.

    async with AsyncProducer(bootstrap_servers="localhost:9092", acks="all") as producer:
        place = await producer.send_and_wait("orders", b"value", key=b"key")
        future = await producer.send("orders", b"another")
        print(place.offset, (await future).offset)

`await send` ends when the record is appended, for which it waits at most max.block.ms. It returns a future that ends
when the record is acknowledged. A cancelled `send` has appended nothing. Cancelling the future, or a task that awaits
it, does not withdraw the record. Everything else is as with `Producer`; the event loop calls `on_delivery`.
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

# Time limit for queued records when the block of an `async with` is cancelled.
CANCELLED_CLOSE_S: Final = 5.0


class AsyncProducer:
    """Sends records from one event loop. Close it with `close`, or use it in an `async with` block.

    It starts with `start`, or with its first call. Configurations are those of `Producer`.

    Raises:
        ConfigError: a configuration is unknown, wrong or not served.
    """

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
        self._iteration_is_due = False
        self._yielding = 0
        self._interceptors = self.config.interceptors or None

    async def start(self) -> None:
        """Start on the running event loop; the first call of another method does this too.

        Raises:
            IllegalState: the event loop cannot watch sockets.
        """
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
        """Append a record and return its future.

        Raises:
            ProducerClosed: the producer is closed.
            ProducerForked: the producer was created before a fork, in another process.
            SerializationError: the key, the value or a header cannot be serialized.
            IllegalState: no transaction is in progress, or the producer was started on another event loop.
            TransactionInError: an earlier error ended the transaction or the producer.
        """
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
        if self._iteration_is_due or self._yielding:
            await self._yield_to_loop()
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
        return self._futures.of(record) if on_delivery is None else self._futures.of_reported(record)

    async def send_and_wait(
        self,
        topic: str,
        value: object = None,
        key: object = None,
        partition: int | None = None,
        headers: GivenHeaders = NO_HEADERS,
        timestamp_ms: int | None = None,
    ) -> RecordMetadata:
        """Send a record, wait until it is acknowledged, and return its place.

        Raises:
            ProducerError: the error of the record, or one that `send` raises.
        """
        return await (await self.send(topic, value, key, partition, headers, timestamp_ms))

    async def send_batch(self, topic: str, table: Any) -> asyncio.Future[Any]:
        """Append the rows of a table as Producer.send_batch does; return the future of the table of results.

        If it is cancelled, the rows that are not appended yet are not sent.

        Raises:
            ProducerClosed: the producer is closed.
            SerializationError: a column is unknown or has the wrong type, or the producer has serializers.
            IllegalState: the producer was started on another event loop.
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
        """Fence older producers with the same transactional.id, as Producer.init_transactions does.

        A transactional operation continues when its call is cancelled; then only the same call is allowed.

        Raises:
            TransactionTimeout: the coordinator did not respond within max.block.ms.
            ProducerFenced: a newer producer has the same transactional.id.
            IllegalState: the transaction does not allow the call in its state.
        """
        await self._transactional_call("init_transactions", lambda core: core.transactional.init_transactions())

    async def begin_transaction(self) -> None:
        """Begin a transaction, of which every record sent from now on is part.

        Raises:
            IllegalState: the transaction does not allow the call in its state.
        """
        await self._ready("begin_transaction")
        self._core.transactional.begin_transaction()

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], group: ConsumerGroupMetadata | str
    ) -> None:
        """Commit a consumer's offsets with the transaction; each is the offset of the next record to be consumed.

        Raises:
            TransactionTimeout: the coordinator did not respond within max.block.ms.
            TransactionInError: an earlier error ended the transaction or the producer.
            IllegalState: the transaction does not allow the call in its state.
        """
        await self._transactional_call(
            "send_offsets_to_transaction",
            lambda core: core.transactional.send_offsets_to_transaction(offsets, group),
        )

    async def commit_transaction(self) -> None:
        """Send all records, wait for their acknowledgements, and commit the transaction.

        Raises:
            TransactionInError: a record of the transaction has failed; `cause` is its error.
            TransactionTimeout: the coordinator did not respond within max.block.ms.
            IllegalState: the transaction does not allow the call in its state.
        """
        await self._transactional_call("commit_transaction", lambda core: core.transactional.commit_transaction())

    async def abort_transaction(self) -> None:
        """Fail the unsent records, wait for the others, and abort; required after an abortable error.

        Raises:
            TransactionTimeout: the coordinator did not respond within max.block.ms.
            ProducerFenced: a newer producer has the same transactional.id.
            IllegalState: the transaction does not allow the call in its state.
        """
        await self._transactional_call("abort_transaction", lambda core: core.transactional.abort_transaction())

    async def flush(self, timeout: float | None = None) -> None:
        """Send all appended records without lingering, and wait at most `timeout` seconds until they have ended.

        Raises:
            WaitExpired: records have not ended within `timeout`.
            ProducerClosed: the producer is closed.
        """
        await self._ready("flush")
        limit_s = longest_wait_ms(self.config) / 1000 if timeout is None else timeout
        await self._awaited("flush", self._core.flush(), limit_s, "flush(timeout)")

    async def partitions_for(self, topic: str) -> list[PartitionInfo]:
        """Return the topic's partitions; wait at most max.block.ms for the metadata.

        Raises:
            MetadataTimeout: no metadata of the topic arrived within max.block.ms.
            InvalidTopic: Kafka does not allow the name.
            TopicAuthorizationFailed: the client may not describe the topic.
            ProducerClosed: the producer is closed.
        """
        await self._ready("partitions_for")
        partitions: list[PartitionInfo] = await self._awaited(
            "partitions_for", self._core.partitions_for(topic), (self._max_block_ms + GRACE_MS) / 1000, "max.block.ms"
        )
        return partitions

    def metrics(self) -> MetricsSnapshot:
        """Return a snapshot of all metrics, as Producer.metrics does.

        Raises:
            IllegalState: the producer is not started.
        """
        if self._loop is None:
            raise IllegalState("no metrics yet: the producer is not started; call start() or send() first")
        return self._core.metrics.read()

    async def client_instance_id(self, timeout: float) -> str | None:
        """Return the id that a broker assigned for client metrics (KIP-714), None if none came in `timeout` seconds.

        Raises:
            IllegalState: enable.metrics.push is false.
            ProducerClosed: the producer is closed.
        """
        await self._ready("client_instance_id")
        instance_id: str | None = await self._awaited(
            "client_instance_id",
            self._core.client_instance_id(int(timeout * 1000)),
            timeout + GRACE_MS / 1000,
            "client_instance_id(timeout)",
        )
        return instance_id

    def unacknowledged_records(self) -> int:
        """Return the number of records that were appended and are neither acknowledged nor failed."""
        return 0 if self._loop is None else self._core.accumulator.unacknowledged_records()

    async def close(self, timeout: float | None = None) -> None:
        """Send all appended records, fail those left after `timeout` seconds, and close the connections.

        Without `timeout` it waits until every record has ended. A cancelled call fails the rest immediately.

        Raises:
            ProducerForked: the producer was created before a fork, in another process.
            IllegalState: the producer was started on another event loop.
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
            return  # a discarded coroutine cannot wait; unsent records are logged when the process exits
        if error_type is None or not issubclass(error_type, (KeyboardInterrupt, asyncio.CancelledError)):
            await self.close()
            return
        if issubclass(error_type, KeyboardInterrupt) or self._closed or self._loop is None:
            await self.close(0)
            return
        left = self._core.accumulator.incomplete_batches()
        await self.close(CANCELLED_CLOSE_S)
        given_up = sum(batch.record_count for batch in left if batch.result.error_of_record is not None)
        why = f"their block was cancelled {CANCELLED_CLOSE_S} s ago; call close(timeout) in the block to wait longer"
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

    async def _yield_to_loop(self) -> None:
        """Let full batches be sent before more records are appended; callers continue in their order."""
        self._yielding += 1
        try:
            await asyncio.sleep(0)
        finally:
            self._yielding -= 1

    def _call_soon(self, loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
        self._iteration_is_due = True
        loop.call_soon(self._run_iteration, function)

    def _run_iteration(self, function: Callable[[], None]) -> None:
        self._iteration_is_due = False
        function()

    async def _transactional_call(
        self, name: str, call: Callable[[ProducerCore], Coroutine[Deferred[Any], Any, None]]
    ) -> None:
        await self._ready(name)
        await self._awaited(name, call(self._core), (self._max_block_ms + GRACE_MS) / 1000, "max.block.ms")

    async def _awaited(
        self, name: str, coroutine: Coroutine[Deferred[Any], Any, Any], limit_s: float, option: str
    ) -> Any:
        """Return the result of a coroutine of the core; cancel it if the caller is cancelled or the limit passes."""
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
        """Start if need be; raise if the producer is closed, was forked or is on another loop."""
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
                f"cannot {name}: the producer was started on another event loop; create one AsyncProducer per "
                "event loop, that is, in each asyncio.run and in each thread"
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
