"""The producer for programs with threads: one network thread per producer. Mirrors KafkaProducer.

    with Producer(bootstrap_servers="localhost:9092", acks="all") as producer:
        future = producer.send("orders", b"value", key=b"key")
        print(future.result(timeout=10).offset)

`send` appends a record in the caller's thread and wakes the network thread once for many records. It waits at most
max.block.ms, for metadata and for memory together. Errors of a record or its topic are reported by the future and by
`on_delivery`. `send` itself raises an error if the producer is closed or a value cannot be serialized.
"""

from __future__ import annotations

import atexit
import os
from typing import TYPE_CHECKING, Any, Self

from broker_client.api_options import GRACE_MS, LONGEST_WAIT_MS, fresh_random, longest_wait_ms, with_client_id
from broker_client.bootstrap_problems import bootstrap_problems
from broker_client.core.producer.future_record_metadata import DeliveryCallback, FutureRecordMetadata
from broker_client.core.producer.producer_core import NO_HEADERS, ProducerCore
from broker_client.core.producer.wait_for_room import WaitForRoom, WaitingRecord, WaitingTable
from broker_client.core.transactions.transactional_calls import REFUSALS
from broker_client.errors import (
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
from broker_client.thread_signal import ThreadSignal, run_blocking
from sim_runtime.deadlines import DeadlineExceeded
from sim_runtime.reactor_thread import ReactorThread

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Coroutine, Mapping
    from types import TracebackType

    from broker_client.consumer_groups import ConsumerGroupMetadata, OffsetAndMetadata
    from broker_client.core.batching.columnar_send import ColumnarSend
    from broker_client.core.producer.future_table import FutureTable, RowsCallback
    from broker_client.core.producer.trace import Trace
    from broker_client.metrics import MetricsSnapshot
    from broker_client.record_values import GivenHeaders
    from broker_client.records import Headers, PartitionInfo, TopicPartition

__all__ = ["Producer"]


class Producer:
    """Sends records from any thread. Close it with `close`, or use it in a `with` block.

    Configurations have Java's names: with dots in `config`, with underscores in `options`. `trace` receives the events
    of batches. `random` draws partitions and back-off times.

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
        self.config.resolve_canonical_names()
        self._key_serializer = self.config.key_serializer
        self._value_serializer = self.config.value_serializer
        self._max_block_ms = min(self.config.number("max.block.ms"), LONGEST_WAIT_MS)
        self._forks = forks.count
        self._pid = os.getpid()
        self._closed = False
        self._thread = ReactorThread(f"kafka-producer-network-thread | {self.config.client_id}")
        reactor = self._thread.reactor
        self._core: ProducerCore = self._thread.make(
            lambda: ProducerCore(
                self.config,
                reactor,
                random if random is not None else fresh_random(),
                call_from_thread=reactor.callFromThread,
                trace=trace,
            )
        )
        self._try_append = self._core.try_append
        self._room = WaitForRoom(self._core, ThreadSignal)
        self._interceptors = self.config.interceptors or None
        sees_each = self._value_serializer is not None or self._interceptors is not None
        self._append_buffers = {} if sees_each else self._core.append_buffers.by_topic
        self._at_exit = warn_at_exit(self._core)

    def send(
        self,
        topic: str,
        value: object = None,
        key: object = None,
        partition: int | None = None,
        headers: GivenHeaders = NO_HEADERS,
        timestamp_ms: int | None = None,
        on_delivery: DeliveryCallback | None = None,
    ) -> FutureRecordMetadata:
        """Append a record and return its future.

        The network thread calls `on_delivery(metadata, error)` when the record is acknowledged or has failed.

        Raises:
            ProducerClosed: the producer is closed.
            ProducerForked: the producer was created before a fork, in another process.
            SerializationError: the key, the value or a header cannot be serialized.
            IllegalState: the producer is transactional and no transaction is in progress.
            TransactionInError: an earlier error ended the transaction or the producer.
        """
        if key is partition is timestamp_ms is None and headers is NO_HEADERS and type(value) is bytes:
            buffer = self._append_buffers.get(topic)  # try_append looks there, too: most records need nothing else
            if buffer is not None and forks.count == self._forks:
                future = buffer.append(value, on_delivery)
                if future is not None:
                    return future
        intercepted: InterceptedRecord | None = None
        if self._interceptors is not None:
            intercepted = InterceptedRecord(
                self._interceptors, topic, value, key, partition, headers, timestamp_ms, on_delivery
            )
            topic, value, key, partition, headers, timestamp_ms, on_delivery = intercepted.arguments()
        try:
            if self._closed or forks.count != self._forks:
                self._refuse("send")
            if (type(value) is not bytes and value is not None) or self._value_serializer is not None:
                value = serialized("value", value, self._value_serializer, topic)
            if (type(key) is not bytes and key is not None) or (self._key_serializer is not None and key is not None):
                key = serialized("key", key, self._key_serializer, topic)
            checked: Headers = NO_HEADERS if headers is NO_HEADERS else checked_headers(headers)
        except ProducerError as error:
            if intercepted is not None:
                intercepted.refused(error)
            raise
        try:
            appended = self._try_append(topic, partition, timestamp_ms, key, value, checked, on_delivery)
            if type(appended) is FutureRecordMetadata:
                return appended
            return self._send_blocking(topic, partition, timestamp_ms, key, value, checked, on_delivery)
        except (*REFUSALS, SerializationError) as error:
            if intercepted is not None:
                intercepted.refused(error)
            raise
        except ProducerError as error:
            self._core.send_failed(error)
            return FutureRecordMetadata.failed(topic, error, on_delivery)

    def send_batch(self, topic: str, table: Any, *, on_delivery: RowsCallback | None = None) -> FutureTable:
        """Append the rows of a pyarrow Table or RecordBatch; return the future of a table with one row per record.

        Columns are value, key, headers, timestamp (ms) and partition; only value is required. A table larger than
        buffer.memory is sent in parts, each of which waits at most max.block.ms. Its batches do not linger.
        `on_delivery` is called with the rows of each batch once it has ended, on the network thread, and with rows that
        were refused, perhaps during this call.

        Raises:
            ProducerClosed: the producer is closed.
            ProducerForked: the producer was created before a fork, in another process.
            SerializationError: a column is unknown or has the wrong type, or the producer has serializers.
        """
        self._check("send_batch")
        sending = self._core.columnar_send(topic, table, on_delivery)
        try:
            self._send_table(sending)
        except REFUSALS as error:
            sending.fail(error)
            raise
        except ProducerError as error:
            self._core.send_failed(error)
            sending.fail(error)
        return sending.future

    def init_transactions(self) -> None:
        """Fence older producers with the same transactional.id; call it once, before the first transaction.

        The coordinator aborts their open transaction, or completes its commit. Like all transactional calls it waits
        at most max.block.ms, and may be called again after TransactionTimeout.

        Raises:
            TransactionTimeout: the coordinator did not respond within max.block.ms.
            ProducerFenced: a newer producer has the same transactional.id.
            IllegalState: the transaction does not allow the call in its state.
            ProducerClosed: the producer is closed.
        """
        self._transactional_call("init_transactions", self._core.transactional.init_transactions)

    def begin_transaction(self) -> None:
        """Begin a transaction, of which every record sent from now on is part.

        producer.begin_transaction()
        try:
            producer.send("orders", b"shipped")
            producer.send_offsets_to_transaction({TopicPartition("carts", 0): 42}, "shop")
            producer.commit_transaction()
        except ProducerError:
            producer.abort_transaction()  # raises after a fatal error: only close is left

        Raises:
            IllegalState: the transaction does not allow the call in its state.
            ProducerClosed: the producer is closed.
        """
        self._check("begin_transaction")
        self._thread.call(self._core.transactional.begin_transaction)

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], group: ConsumerGroupMetadata | str
    ) -> None:
        """Commit a consumer's offsets with the transaction; each is the offset of the next record to be consumed.

        Raises:
            TransactionTimeout: the coordinator did not respond within max.block.ms.
            TransactionInError: an earlier error ended the transaction or the producer.
            IllegalState: the transaction does not allow the call in its state.
            ProducerClosed: the producer is closed.
        """
        self._transactional_call(
            "send_offsets_to_transaction", lambda: self._core.transactional.send_offsets_to_transaction(offsets, group)
        )

    def commit_transaction(self) -> None:
        """Send all records, wait for their acknowledgements, and commit the transaction.

        Raises:
            TransactionInError: a record of the transaction has failed; `cause` is its error.
            TransactionTimeout: the coordinator did not respond within max.block.ms.
            IllegalState: the transaction does not allow the call in its state.
            ProducerClosed: the producer is closed.
        """
        self._transactional_call("commit_transaction", self._core.transactional.commit_transaction)

    def abort_transaction(self) -> None:
        """Fail the unsent records, wait for the others, and abort; required after an abortable error.

        Raises:
            TransactionTimeout: the coordinator did not respond within max.block.ms.
            ProducerFenced: a newer producer has the same transactional.id.
            IllegalState: the transaction does not allow the call in its state.
            ProducerClosed: the producer is closed.
        """
        self._transactional_call("abort_transaction", self._core.transactional.abort_transaction)

    def flush(self, timeout: float | None = None) -> None:
        """Send all appended records without lingering, and wait at most `timeout` seconds until they have ended.

        Raises:
            WaitExpired: records have not ended within `timeout`.
            ProducerClosed: the producer is closed.
        """
        self._check("flush")
        core = self._core
        began_s = core.reactor.seconds()
        if not core.has_unended:
            core.metrics.calls.flush.since(began_s)
            return
        limit_s = longest_wait_ms(self.config) / 1000 if timeout is None else timeout
        try:
            self._thread.call(core.flush, timeout_s=limit_s)
        except DeadlineExceeded:
            raise WaitExpired(f"flush is not done after {limit_s:g} s", "flush(timeout)") from None

    def partitions_for(self, topic: str) -> list[PartitionInfo]:
        """Return the topic's partitions; wait at most max.block.ms for the metadata.

        Raises:
            MetadataTimeout: no metadata of the topic arrived within max.block.ms.
            InvalidTopic: Kafka does not allow the name.
            TopicAuthorizationFailed: the client may not describe the topic.
            ProducerClosed: the producer is closed.
        """
        self._check("partitions_for")
        return self._thread.call(self._core.partitions_for, topic, timeout_s=(self._max_block_ms + GRACE_MS) / 1000)

    def metrics(self) -> MetricsSnapshot:
        """Return a snapshot of all metrics, under Java's names: `metrics()["record-send-rate"]`."""
        return self._core.metrics.read()

    def client_instance_id(self, timeout: float) -> str | None:
        """Return the id that a broker assigned for client metrics (KIP-714), None if none came in `timeout` seconds.

        Raises:
            IllegalState: enable.metrics.push is false.
            ProducerClosed: the producer is closed.
        """
        self._check("client_instance_id")
        timeout_ms = int(timeout * 1000)
        limit_s = (timeout_ms + GRACE_MS) / 1000
        return self._thread.call(self._core.client_instance_id, timeout_ms, timeout_s=limit_s)

    def connection_problems(self) -> list[str] | None:
        """Return why bootstrap servers cannot be reached so far, None once a broker has sent its metadata."""
        return self._thread.call(lambda: bootstrap_problems(self._core))

    def unacknowledged_records(self) -> int:
        """Return the number of records that were appended and are neither acknowledged nor failed."""
        return self._core.accumulator.unacknowledged_records()

    def close(self, timeout: float | None = None) -> None:
        """Send all appended records, fail those left after `timeout` seconds, and stop the network thread.

        Without `timeout` it waits until every record has ended. A second call has no effect.

        Raises:
            ProducerForked: the producer was created before a fork, in another process.
        """
        if self._closed:
            return
        if forks.count != self._forks:
            self._refuse("close")
        timeout_ms = None if timeout is None else int(timeout * 1000)
        limit_s = (longest_wait_ms(self.config) if timeout_ms is None else timeout_ms + GRACE_MS) / 1000
        try:
            self._closed = True
            atexit.unregister(self._at_exit)
            self._thread.call(self._core.close, timeout_ms, timeout_s=limit_s)
        except KeyboardInterrupt:
            warn_of_given_up(self._core, self.unacknowledged_records(), "close() was interrupted")
            raise
        finally:
            self._thread.stop()
            self.config.interceptors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error_type is None or not issubclass(error_type, KeyboardInterrupt):
            self.close()
            return
        # An interrupted program must not wait for queued records.
        if not self._closed and forks.count == self._forks:
            warn_of_given_up(
                self._core, self.unacknowledged_records(), f"{error_type.__name__} ended the block of the producer"
            )
        self.close(0)

    # Details

    def _send_blocking(
        self,
        topic: str,
        partition: int | None,
        timestamp_ms: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        on_delivery: DeliveryCallback | None,
    ) -> FutureRecordMetadata:
        """Wait in the caller's thread for metadata and memory, max.block.ms in all."""
        core = self._core
        if self._thread.is_here:
            # A callback on the network thread cannot wait for that thread: the record waits in the core.
            return core.send(topic, value, key, partition, headers, timestamp_ms, on_delivery)
        record = WaitingRecord(
            topic=topic,
            partition=partition,
            timestamp_ms=timestamp_ms,
            key=key,
            value=value,
            headers=headers,
            on_delivery=on_delivery,
            deadline_s=core.reactor.seconds() + self._max_block_ms / 1000,
        )
        run_blocking(self._room.append(record))
        assert record.future is not None
        return record.future

    def _send_table(self, sending: ColumnarSend) -> None:
        """Wait in the caller's thread for metadata and memory, max.block.ms for each part."""
        core = self._core
        if self._thread.is_here:
            core.send_prepared(sending)  # it cannot wait for itself
            return
        deadline_s = core.reactor.seconds() + self._max_block_ms / 1000
        run_blocking(
            self._room.append(WaitingTable(sending=sending, max_block_ms=self._max_block_ms, deadline_s=deadline_s))
        )

    def _transactional_call(self, name: str, call: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._check(name)
        self._thread.call(call, timeout_s=(self._max_block_ms + GRACE_MS) / 1000)

    def _check(self, name: str) -> None:
        if self._closed or forks.count != self._forks:
            self._refuse(name)

    def _refuse(self, name: str) -> None:
        if forks.count != self._forks:
            raise ProducerForked(
                f"cannot {name}: the producer was made in process {self._pid}, this is process {os.getpid()}, "
                "and its network thread stayed there; make a producer after the fork"
            )
        raise ProducerClosed(f"cannot {name}: the producer is closed")
