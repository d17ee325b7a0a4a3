"""The producer without threads: all parts wired on one reactor. Mirrors what KafkaProducer's constructor and doSend do.

`try_append` is the base of every front end: it never waits, it returns what to wait for. `send` is for code on
the reactor: a record that has to wait for metadata or memory waits in its topic's queue, in order, at most
max.block.ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from broker_client.core.batching.append_buffer import AppendBuffers
from broker_client.core.batching.message_formats import MessageFormats
from broker_client.core.batching.partitioners import KeyHashes
from broker_client.core.client_parts import parts_with
from broker_client.core.metrics.producer_metrics import ProducerMetrics
from broker_client.core.network.api_versions import ApiVersions
from broker_client.core.network.reactor_signal import metadata_change
from broker_client.core.producer.batch_tracer import BatchTracer
from broker_client.core.producer.future_record_metadata import DeliveryCallback, FutureRecordMetadata
from broker_client.core.producer.producer_parts import PRODUCER_PARTS
from broker_client.core.producer.sender_loop import SenderLoop, now_ms_of
from broker_client.core.producer.topic_lookup import TopicLookup
from broker_client.core.producer.wait_for_room import WaitingRecord
from broker_client.core.producer.waits import WaitFor
from broker_client.core.telemetry.client_telemetry import client_instance_id, telemetry_of
from broker_client.core.transactions.transaction_manager import TransactionManager
from broker_client.core.transactions.transactional_calls import TransactionalCalls
from broker_client.errors import (
    BufferExhausted,
    IllegalState,
    ProducerClosed,
    ProducerError,
    RecordTooLarge,
    SerializationError,
)
from broker_client.record_values import INT64_MAX, whole_number
from broker_client.records import UNKNOWN_PARTITION, Headers, PartitionInfo
from protocol_specs.records.batch_builder import estimate_size_in_bytes_upper_bound
from sim_runtime.backoff import ExponentialBackoff
from sim_runtime.deadlines import sleep

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable

    from broker_client.core.batching.columnar_send import ColumnarSend
    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.core.batching.record_accumulator import AccumulatorConfig, RecordAccumulator
    from broker_client.core.network.network_client import NetworkClient
    from broker_client.core.producer.future_table import FutureTable, RowsCallback
    from broker_client.core.producer.topic_lookup import KnownTopic
    from broker_client.core.producer.trace import Trace
    from broker_client.core.transactions.producer_id_state import ProducerIdState
    from broker_client.producer_config import ProducerConfig
    from sim_runtime.interfaces import IReactor

__all__ = ["ProducerCore", "WaitFor"]

BACKOFF_MULTIPLIER: Final = 2
BACKOFF_JITTER: Final = 0.2
NO_HEADERS: Final[Headers] = ()
# Up to here a record is far from max.request.size, and its overhead is not measured exactly.
_OVERHEAD_SURELY_BELOW: Final = 128
# A topic in use is added to the metadata again after this time, not for every record.
_TOUCH_TOPIC_AFTER_MS: Final = 1_000
_log = Logger()


class ProducerCore:
    """Call everything but `try_append` on the reactor's thread. `defects` are names of `broker_client.defects`."""

    def __init__(
        self,
        config: ProducerConfig,
        reactor: IReactor,
        random: random.Random,
        *,
        call_from_thread: Callable[[Callable[[], None]], object] | None = None,
        trace: Trace | None = None,
        defects: Iterable[str] = (),
    ) -> None:
        self._parts = parts = parts_with(PRODUCER_PARTS, defects)
        self.config = config
        self.reactor = reactor
        self._seconds = reactor.seconds
        self.closed = False
        self._max_block_ms = config.number("max.block.ms")
        self._record_size_max = config.number("max.request.size")
        self._surely_small = min(self._record_size_max, config.number("buffer.memory")) - _OVERHEAD_SURELY_BELOW
        self.ignores_keys = config.flag("partitioner.ignore.keys")
        self.partitioner = config.partitioner
        self._key_hashes = KeyHashes()
        backoff = _retry_backoff(config, random)
        self.metadata = parts.metadata(
            bootstrap=config.bootstrap_servers,
            refresh_backoff=backoff,
            expire_ms=config.number("metadata.max.age.ms"),
            idle_ms=config.number("metadata.max.idle.ms"),
        )
        self._call_from_thread = call_from_thread or self._call_later
        self.api_versions = ApiVersions()
        self.transactions = self._transaction_manager()
        accumulator_config = config.accumulator_config()
        self._formats = MessageFormats.of(config, accumulator_config.compression.codec, self.api_versions)
        self.client = self._network_client(random)
        self.metrics = ProducerMetrics(config, reactor, self.client, self.metadata)
        if config.flag("enable.metrics.push"):
            labels = {"transactional_id": config["transactional.id"]}
            self.client.telemetry = telemetry_of(self.client, self.metrics.registry, random, labels)
        self.pool = parts.buffer_pool(config.number("buffer.memory"), accumulator_config.batch_size, self.metrics.pool)
        self.topics = TopicLookup(
            metadata=self.metadata,
            check_open=self._check_open,
            wakeup=self.wakeup,
            connection_problems=self.client.connection_problems,
            max_block_ms=self._max_block_ms,
        )
        self._known_topics = self.topics.known
        self.append_buffers = AppendBuffers(self.metadata, self._seconds, self._surely_small)
        self.accumulator = self._record_accumulator(accumulator_config, backoff, random, trace)
        self.sender = parts.sender(
            config=config.sender_config(),
            client=self.client,
            metadata=self.metadata,
            accumulator=self.accumulator,
            transactions=self.transactions,
            metrics=self.metrics.sender,
            formats=self._formats,
        )
        self.loop = SenderLoop(
            runnable=self.metrics.measured(self.sender), reactor=reactor, call_from_thread=self._call_from_thread
        )
        self._pending = parts.pending_sends(self, self._call_from_thread)
        self._ended: Deferred[None] | None = None
        self._transactional = self._transactional_calls()
        self.wakeup()

    # Appending: from any thread

    def try_append(
        self,
        topic: str,
        partition: int | None,
        timestamp_ms: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        on_delivery: DeliveryCallback | None,
        granted_bytes: int = 0,
    ) -> FutureRecordMetadata | WaitFor:
        """Append the record now, or return what it has to wait for.

        `granted_bytes` is memory that a wait has brought: it is used or given back, unless METADATA is returned.

        Raises:
            ProducerError: the record can never be appended, or not in this transaction (REFUSALS).
        """
        if key is None and partition is None and timestamp_ms is None and not headers and value is not None:
            buffer = self.append_buffers.by_topic.get(topic)
            if buffer is not None and not granted_bytes:
                future = buffer.append(value, on_delivery)
                if future is not None:
                    return future
        transactional = self._transactional
        now_ms = int(self._seconds() * 1000.0 + 0.0005)
        try:
            if transactional is not None:
                transactional.check_send()
            known = self._known_topics.get(topic)
            if (
                known is None
                or known.cluster is not self.metadata.cluster
                or now_ms - known.touched_ms > _TOUCH_TOPIC_AFTER_MS
            ):
                known = self.topics.look_up(topic, now_ms)
                if known is None:
                    return WaitFor.METADATA
            if partition is None:
                if key is None and self.partitioner is None:
                    partition = UNKNOWN_PARTITION
                else:
                    partition = self._choose_partition(topic, key, value, known)
            elif type(partition) is not int or not 0 <= partition < known.partition_count:
                partition = self.topics.checked_partition(topic, partition, known)
                if partition is None:
                    return WaitFor.METADATA
            if timestamp_ms is not None and (type(timestamp_ms) is not int or not 0 <= timestamp_ms <= INT64_MAX):
                timestamp_ms = _checked_timestamp(timestamp_ms)
            if headers or (len(key) if key else 0) + (len(value) if value else 0) > self._surely_small:
                self._check_size(key, value, headers)
        except ProducerError:
            if granted_bytes:
                self.pool.deallocate(granted_bytes)
            raise
        if timestamp_ms is None:
            timestamp_ms = now_ms
        future = self.accumulator.append(
            topic, partition, timestamp_ms, key, value, headers, on_delivery, now_ms, known.cluster, granted_bytes
        )
        if future is None:
            return WaitFor.MEMORY
        if transactional is not None:
            transactional.appended(future.batch_result.topic_partition)
        return future

    def columnar_send(self, topic: str, table: Any, on_delivery: RowsCallback | None = None) -> ColumnarSend:
        """Check a table (Arrow) whose rows are records of the topic; nothing is appended yet."""
        from broker_client.core.batching.columnar_send import (
            ColumnarSend,  # only who sends tables needs pyarrow and numpy
        )

        for key in ("key.serializer", "value.serializer", "interceptor.classes"):
            if self.config[key]:
                raise SerializationError(
                    f"send_batch takes columns of bytes or text and calls no {key}: leave it unset"
                )
        if self._transactional is not None:
            self._transactional.check_send()
        return ColumnarSend(self, self._transactional, topic, table, now_ms_of(self.reactor), on_delivery)

    @property
    def record_limit(self) -> tuple[int, str]:
        """The largest size of a record, and the option that sets it."""
        if self._record_size_max <= self.pool.memory_bytes:
            return self._record_size_max, "max.request.size"
        return self.pool.memory_bytes, "buffer.memory"

    def wakeup(self) -> None:
        """Let the Sender run an iteration soon."""
        self.loop.wakeup()

    # On the reactor

    def send(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        partition: int | None = None,
        headers: Headers = NO_HEADERS,
        timestamp_ms: int | None = None,
        on_delivery: DeliveryCallback | None = None,
    ) -> FutureRecordMetadata:
        """Append, or queue until metadata and memory allow it; what goes wrong comes with the future."""
        if self.closed:
            raise ProducerClosed("cannot send: the producer is closed")
        try:
            if self._pending.has(topic):
                if self._transactional is not None:
                    self._transactional.check_send()
            else:
                appended = self.try_append(topic, partition, timestamp_ms, key, value, headers, on_delivery)
                if isinstance(appended, FutureRecordMetadata):
                    return appended
        except ProducerError as error:
            self.send_failed(error)
            return FutureRecordMetadata.failed(topic, error, on_delivery)
        record = WaitingRecord(
            topic=topic,
            partition=partition,
            timestamp_ms=timestamp_ms if timestamp_ms is not None else now_ms_of(self.reactor),
            key=key,
            value=value,
            headers=headers,
            on_delivery=on_delivery,
            deadline_s=self._seconds() + self._max_block_ms / 1000,
        )
        return self._pending.add(record)

    def send_batch(self, topic: str, table: Any, on_delivery: RowsCallback | None = None) -> FutureTable:
        """Append the rows of an Arrow table, or queue what has to wait; what goes wrong comes with the future."""
        if self.closed:
            raise ProducerClosed("cannot send: the producer is closed")
        return self.send_prepared(self.columnar_send(topic, table, on_delivery))

    def send_prepared(self, sending: ColumnarSend) -> FutureTable:
        """Append what columnar_send made, behind what waits already."""
        return self._pending.add_table(sending, self._max_block_ms)

    async def partitions_for(self, topic: str) -> list[PartitionInfo]:
        """The topic's partitions, as soon as they are known; raises MetadataTimeout after max.block.ms."""
        began_s: float | None = None
        deadline_ms = now_ms_of(self.reactor) + self._max_block_ms
        while True:
            if self.closed:
                raise ProducerClosed("cannot return partitions: the producer is closed")
            known = self.topics.look_up(topic, now_ms_of(self.reactor))
            if known is not None:
                if began_s is not None:
                    self.metrics.calls.metadata_wait.since(began_s)
                return list(known.cluster.topics[topic].partitions)
            left_ms = deadline_ms - now_ms_of(self.reactor)
            if left_ms <= 0:
                raise self.topics.timeout(topic, None)
            began_s = self._seconds() if began_s is None else began_s
            await metadata_change(self.metadata, self.reactor, left_ms)

    async def client_instance_id(self, timeout_ms: int) -> str | None:
        """The id under which brokers keep this client's metrics, None if no broker sends it in time."""
        return await client_instance_id(self.client.telemetry, self.reactor, timeout_ms)

    @property
    def transactional(self) -> TransactionalCalls:
        """The calls of transactions; raises for a producer without a transactional.id."""
        if self.closed:
            raise ProducerClosed("cannot use transactions: the producer is closed")
        if self._transactional is None:
            raise IllegalState("transactions need the configuration transactional.id, which is not set")
        return self._transactional

    def send_failed(self, error: ProducerError) -> None:
        """A record was not appended; within a transaction that is the transaction's end."""
        self.metrics.sender.refused()
        if self._transactional is not None:
            self._transactional.send_failed(error)

    @property
    def has_unended(self) -> bool:
        """True if a record waits to be appended, or was and has not ended; from any thread."""
        return self.accumulator.has_incomplete or self._pending.has_any

    async def flush(self) -> None:
        """Send everything now and wait until it has ended; records sent later are not waited for."""
        began_s = self._seconds()
        waiting = self._pending.futures()
        batches = self.accumulator.begin_flush()
        self.wakeup()
        try:
            for future in waiting:
                await _ended(future)
            for batch in batches:
                await _ended_batch(batch)
            # The parts of splits, and batches that are still listed though they have ended.
            origins = {batch.origin for batch in batches}
            origins |= {batch.origin for batch in self.accumulator.incomplete_batches()} if waiting else set()
            while remaining := [one for one in self.accumulator.incomplete_batches() if one.origin in origins]:
                await _ended_batch(remaining[0])
                await sleep(self.reactor, 0)  # until the code that ended it has removed it from the list
        finally:
            self.accumulator.end_flush()
            self.metrics.calls.flush.since(began_s)

    def all_appended(self) -> Deferred[None]:
        """Fires when no record waits for metadata or memory: when the `send` of each has returned, in Java's terms."""
        return self._pending.all_appended()

    def close(self, timeout_ms: int | None = None) -> Deferred[None]:
        """Take no more records, send what there is, at most `timeout_ms`; then fail the rest and close connections.

        A second call may be less patient than the first.
        """
        if self._ended is None:
            self._ended = Deferred()
            self.closed = True
            self._pending.fail_all(ProducerClosed("the producer was closed while a send was in progress"))
            self.accumulator.close()
            self.loop.after_iteration = self._finish_if_done
            if self.client.telemetry is not None and (timeout_ms is None or timeout_ms > 0):
                self.client.telemetry.reporter.initiate_close()
        if timeout_ms is not None and not self._ended.called:
            if timeout_ms <= 0:
                self.loop.stop()  # Sender.forceClose: nothing is sent any more
            self.reactor.callLater(max(timeout_ms, 0) / 1000, self._finish)
        self.wakeup()
        done: Deferred[None] = Deferred()
        self._ended.addCallback(lambda _: done.callback(None))
        return done

    @property
    def loop_errors(self) -> int:
        """How many iterations of the network loop ended with an error, which was logged."""
        return self.loop.errors

    # For front ends

    def memory_timeout(self, size_bytes: int) -> BufferExhausted:
        """The error of a wait for memory that took max.block.ms."""
        pool = self.pool
        self.metrics.pool.exhausted()
        text = (
            f"failed to allocate {size_bytes} bytes within {self._max_block_ms} ms: "
            f"of buffer.memory={pool.memory_bytes} there are {pool.available_bytes} bytes free"
        )
        return BufferExhausted(text, "max.block.ms")

    # Details

    def _on_event(self) -> None:
        self.loop.on_event()

    def _call_later(self, function: Callable[[], None]) -> object:
        return self.reactor.callLater(0, function)

    def _check_open(self) -> None:
        if self.accumulator.closed:
            raise ProducerClosed("cannot send: the producer is closed")

    def _choose_partition(self, topic: str, key: bytes | None, value: bytes | None, known: KnownTopic) -> int:
        if self.partitioner is not None:
            chosen = self.partitioner.partition(topic, key, value, known.cluster)
            if not 0 <= chosen < known.partition_count:
                raise ProducerError(
                    f"the partitioner chose {chosen} for topic {topic!r}, which has {known.partition_count} partitions"
                )
            return chosen
        if key is not None and not self.ignores_keys:
            return self._key_hashes.partition_for(key, known.partition_count)
        return UNKNOWN_PARTITION

    def _check_size(self, key: bytes | None, value: bytes | None, headers: Headers) -> None:
        if headers:
            self._formats.check_headers()
        size = estimate_size_in_bytes_upper_bound(key, value, headers)
        if size > self._record_size_max:
            raise RecordTooLarge(size, self._record_size_max, "max.request.size")
        if size > self.pool.memory_bytes:
            raise RecordTooLarge(size, self.pool.memory_bytes, "buffer.memory")

    def _finish_if_done(self) -> None:
        if self.sender.has_work or not self._transaction_has_ended():
            return
        telemetry = self.client.telemetry
        if telemetry is not None and telemetry.has_last_push(now_ms_of(self.reactor)):
            self.wakeup()  # this iteration had begun before the connection was free
            return
        self._finish()

    def _transaction_has_ended(self) -> bool:
        """True if no transaction is open; an open one is aborted."""
        manager = self.transactions
        if not isinstance(manager, TransactionManager) or not manager.has_ongoing_transaction:
            return True
        if not manager.is_completing:
            try:
                manager.begin_abort()
            except ProducerError as error:
                _log.warn("cannot abort the transaction of a producer that closes: {error}", error=error)
                return True
            self.wakeup()
        return False

    def _transactional_calls(self) -> TransactionalCalls | None:
        if not isinstance(self.transactions, TransactionManager):
            return None
        return TransactionalCalls(
            manager=self.transactions,
            pending=lambda: self._pending,
            reactor=self.reactor,
            wakeup=self.wakeup,
            max_block_ms=self._max_block_ms,
            metrics=self.metrics.calls,
        )

    def _network_client(self, random: random.Random) -> NetworkClient:
        return self._parts.network_client(
            config=self.config.network_config(),
            metadata=self.metadata,
            reactor=self.reactor,
            random=random,
            on_event=self._on_event,
            api_versions=self.api_versions,
        )

    def _record_accumulator(
        self,
        accumulator_config: AccumulatorConfig,
        backoff: ExponentialBackoff,
        random: random.Random,
        trace: Trace | None,
    ) -> RecordAccumulator:
        tracer: BatchTracer | None = None
        if trace is not None:
            tracer = BatchTracer(
                trace=trace,
                client_id=self.config.client_id,
                seconds=self._seconds,
                pool=self.pool,
                linger_ms=accumulator_config.linger_ms,
            )
            self.client.watch_writes(tracer.written)
        # A transaction and a trace need each record at once, without a buffer.
        needs_each = trace is not None or isinstance(self.transactions, TransactionManager)
        return self._parts.accumulator(
            config=accumulator_config,
            pool=self.pool,
            retry_backoff=backoff,
            transactions=self.transactions,
            random=random,
            wakeup=self.wakeup,
            formats=self._formats,
            append_buffers=None if needs_each else self.append_buffers,
            observer=tracer,
        )

    def _transaction_manager(self) -> ProducerIdState | None:
        config = self.config
        if config["transactional.id"] is None:
            return self._parts.producer_id_state() if config.idempotent else None
        return self._parts.transaction_manager(
            transactional_id=config.text("transactional.id"),
            transaction_timeout_ms=config.number("transaction.timeout.ms"),
            retry_backoff_ms=config.number("retry.backoff.ms"),
            api_versions=self.api_versions,
            call_from_thread=self._call_from_thread,
        )

    def _finish(self) -> None:
        if self._ended is None or self._ended.called:
            return
        self.loop.stop()
        self.sender.abort()
        self.client.close()
        self.accumulator.deallocate_ended_in_flight()
        self._ended.callback(None)


def _retry_backoff(config: ProducerConfig, random: random.Random) -> ExponentialBackoff:
    first_ms, most_ms = config.number("retry.backoff.ms"), config.number("retry.backoff.max.ms")
    return ExponentialBackoff(first_ms, most_ms, BACKOFF_MULTIPLIER, BACKOFF_JITTER, random)


def _checked_timestamp(timestamp_ms: int) -> int:
    timestamp_ms = whole_number("timestamp_ms", timestamp_ms)
    if timestamp_ms < 0:
        raise ProducerError(f"timestamp {timestamp_ms}: a timestamp is never negative")
    return timestamp_ms


def _ended(future: FutureRecordMetadata | FutureTable) -> Deferred[None]:
    done: Deferred[None] = Deferred()
    future.add_done_callback(lambda _: done.callback(None))
    return done


def _ended_batch(batch: ProducerBatch) -> Deferred[None]:
    done: Deferred[None] = Deferred()
    batch.result.on_completion(lambda: done.callback(None))
    return done
