"""Records waiting to be sent, a queue of batches a partition. Mirrors RecordAccumulator (KIP-794 queue sizes, KIP-951).

Callers append from their own threads, each queue under its own lock; the Sender drains, mutes and re-enqueues. `append`
never blocks: without memory in the pool it returns None, and the caller waits for a grant and appends with it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Final

from broker_client.core.batching.batch_drain import BatchDrain
from broker_client.core.batching.batch_observer import BatchObserver
from broker_client.core.batching.batch_states import BatchState
from broker_client.core.batching.compression_ratio import CompressionRatioEstimator
from broker_client.core.batching.message_set_batch import MessageSetBatch
from broker_client.core.batching.node_latencies import NodeLatencies
from broker_client.core.batching.partition_queue import PartitionQueue, QueuesByLeader, TopicInfo
from broker_client.core.batching.partitioners import BuiltInPartitioner, StickyPartition
from broker_client.core.batching.producer_batch import COMPRESSION_RATE_ESTIMATION_FACTOR, Compression, ProducerBatch
from broker_client.core.batching.ready_made_batch import ReadyMadeBatch
from broker_client.core.producer.trace import BatchEventKind, ReadyReason
from broker_client.errors import IllegalState, ProducerClosed, ProducerError
from broker_client.records import UNKNOWN_PARTITION, Headers, TopicPartition
from protocol_specs.records.batch_builder import estimate_size_in_bytes_upper_bound
from protocol_specs.records.batch_peek import MAGIC_V2

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Sequence

    from broker_client.core.batching.append_buffer import AppendBuffers
    from broker_client.core.batching.buffer_pool import BufferPool
    from broker_client.core.batching.message_formats import MessageFormats
    from broker_client.core.network.cluster import Cluster
    from broker_client.core.producer.future_record_metadata import DeliveryCallback, FutureRecordMetadata
    from broker_client.core.transactions.producer_id_state import ProducerIdState
    from protocol_specs.records.columnar.builder import RecordsSection
    from sim_runtime.backoff import ExponentialBackoff

__all__ = ["AccumulatorConfig", "ReadyCheckResult", "RecordAccumulator"]

NEVER_MS: Final = 1 << 62
_OPEN: Final = BatchState.OPEN
# Of a batch with one record without headers.
_OVERHEAD_SURELY_BELOW: Final = 128


@dataclass(slots=True, kw_only=True, frozen=True)
class AccumulatorConfig:
    """The configurations that the accumulator obeys, under their own names."""

    batch_size: int
    linger_ms: int
    delivery_timeout_ms: int
    compression: Compression = field(default_factory=Compression)
    adaptive_partitioning: bool = True
    availability_timeout_ms: int = 0


@dataclass(slots=True, kw_only=True)
class ReadyCheckResult:
    """Nodes to send to now, how long until the next look, and topics whose batches have no leader to go to."""

    ready_nodes: dict[int, None] = field(default_factory=dict)
    next_ready_check_ms: int = NEVER_MS
    unknown_leader_topics: dict[str, None] = field(default_factory=dict)


class RecordAccumulator:
    """`wakeup` is called from the appending thread when a batch was made or became full."""

    def __init__(
        self,
        *,
        config: AccumulatorConfig,
        pool: BufferPool,
        retry_backoff: ExponentialBackoff,
        transactions: ProducerIdState | None,
        random: random.Random,
        wakeup: Callable[[], None],
        formats: MessageFormats | None = None,
        append_buffers: AppendBuffers | None = None,
        observer: BatchObserver | None = None,
    ) -> None:
        self.config = config
        self._formats = formats
        self._open_buffer = None if append_buffers is None else append_buffers.open
        self.observer = BatchObserver() if observer is None else observer
        self._observe_append = None if observer is None else observer.appended  # a call per record would be felt
        self.pool = pool
        self.closed = False
        self._retry_backoff = retry_backoff
        self._transactions = transactions
        self._random = random
        self.wakeup = wakeup
        self._estimator = CompressionRatioEstimator()
        self._topics: dict[str, TopicInfo] = {}
        self._queues: list[PartitionQueue] = []  # of all topics; it only grows, so that it can be gone through anytime
        self._lock = Lock()
        self._incomplete: dict[ProducerBatch, None] = {}
        self._ended_in_flight: dict[ProducerBatch, None] = {}
        self._out_of_order: dict[PartitionQueue, None] = {}  # where a batch that is tried again stands before an older
        self._muted: set[TopicPartition] = set()
        self._drain = BatchDrain(self.queue, self._muted, transactions)
        self._led: dict[str, QueuesByLeader] = {}
        self.node_latencies = NodeLatencies(config.availability_timeout_ms)
        self._flushes_in_progress = 0
        self._batches_made = 0

    # Appending: from any thread

    def append(
        self,
        topic: str,
        partition: int,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        on_delivery: DeliveryCallback | None,
        now_ms: int,
        cluster: Cluster,
        granted_bytes: int = 0,
    ) -> FutureRecordMetadata | None:
        """Add a record to its partition's last batch, or to a new one.

        None: no memory for a new batch; wait for `batch_memory` bytes and pass them as `granted_bytes` (used or freed).
        """
        info = self._topics.get(topic) or self._topic_info(topic)
        partitioner = info.partitioner
        sticky: StickyPartition | None = None
        while True:
            if partition == UNKNOWN_PARTITION:
                sticky = partitioner.sticky or partitioner.current(cluster)
                queue = info.queues.get(sticky.partition) or info.queue(sticky.partition)
            else:
                queue = info.queues.get(partition) or info.queue(partition)
            with queue.lock:
                if self.closed:
                    self._give_back(granted_bytes)
                    raise ProducerClosed("the producer was closed while a send was in progress")
                queue.flush()
                batches = queue.batches
                batch = batches[-1] if batches else None
                if sticky is not None and (
                    partitioner.sticky is not sticky
                    or ((batch is None or batch.is_full) and self._switched_late(partitioner, sticky, cluster))
                ):
                    continue  # another caller was faster, or a switch that waited for a full batch is due
                future = None
                before = appended_ms = 0
                if batch is not None:
                    before, appended_ms = batch.estimated_size_in_bytes, batch.last_append_ms
                    future = batch.try_append(timestamp_ms, key, value, headers, on_delivery, now_ms)
                    full = batch.state is not _OPEN
                    if future is None:
                        self._close_last(batch)
                if future is None:
                    batch = self._new_batch(queue, key, value, headers, granted_bytes, now_ms)
                    if batch is None:
                        return None
                    granted_bytes = before = 0
                    future = self._begin(batch, timestamp_ms, key, value, headers, on_delivery, now_ms)
                    batches.append(batch)
                    full = True  # at least one batch was made: the Sender has to know its time
                assert batch is not None
                if self._observe_append is not None:
                    self._observe_append(batch)
                if sticky is not None:
                    sticky.produced_bytes += batch.estimated_size_in_bytes - before
                    if sticky.produced_bytes >= partitioner.sticky_batch_size:
                        partitioner.maybe_switch(sticky, cluster, enable_switch=batch.state is not _OPEN)
                    if timestamp_ms == appended_ms == now_ms and self._open_buffer and partitioner.sticky is sticky:
                        self._open_buffer(queue, batch, sticky, partitioner.switches_at_bytes, cluster)
                break
        if granted_bytes:
            self.pool.deallocate(granted_bytes)
        if full:
            self.wakeup()
        return future

    def topic_info(self, topic: str) -> TopicInfo:
        """The topic's queues and its partitioner's state, made at their first use."""
        return self._topics.get(topic) or self._topic_info(topic)

    def ready_made(self, queue: PartitionQueue, section: RecordsSection, size_bytes: int, now_ms: int) -> ProducerBatch:
        """A batch of records that were written by the column, last in its queue; under the queue's lock."""
        with self._lock:
            number = self._next_number()
        batch = ReadyMadeBatch(
            queue.topic_partition,
            section,
            number=number,
            compression=self.config.compression,
            estimator=self._estimator,
            size_bytes=size_bytes,
            now_ms=now_ms,
        )
        queue.flush()
        if queue.batches:
            queue.batches[-1].close_for_record_appends()
            self.observer.closed(queue.batches[-1])
        queue.batches.append(batch)
        self._incomplete[batch] = None
        self.observer.ready_made(batch)
        return batch

    def growth_of(self, topic: str) -> float:
        """The likely size of one byte of the topic after compression."""
        codec = self.config.compression.codec
        return self._estimator.estimation(topic, codec) * COMPRESSION_RATE_ESTIMATION_FACTOR if codec else 1.0

    def batch_memory(self, key: bytes | None, value: bytes | None, headers: Headers) -> int:
        """The memory of a new batch that begins with this record."""
        batch_size = self.config.batch_size
        if (
            not headers
            and (len(key) if key else 0) + (len(value) if value else 0) < batch_size - _OVERHEAD_SURELY_BELOW
        ):
            return batch_size
        return max(batch_size, estimate_size_in_bytes_upper_bound(key, value, headers))

    # The Sender's turn

    def ready(self, cluster: Cluster, now_ms: int) -> ReadyCheckResult:
        """Which nodes have a batch to be sent now; also weighs partitions for the adaptive partitioner."""
        result = ReadyCheckResult()
        ready_now = self._ready_now()
        for info in list(self._topics.values()):
            self._topic_ready(info, cluster, now_ms, result, ready_now)
        return result

    def drain(
        self, cluster: Cluster, nodes: Iterable[int], max_size: int, now_ms: int
    ) -> dict[int, list[ProducerBatch]]:
        """Take what each node gets with its next request: at most one batch a partition, `max_size` bytes in all."""
        drained = {node: self._drain.drain_node(cluster, node, max_size, now_ms) for node in nodes}
        for node, batches in drained.items():
            self.observer.drained(node, batches)
        return drained

    def first_created_ms(self) -> int:
        """When the oldest of the queued batches was made; NEVER_MS when nothing is queued."""
        oldest = [queue.batches[0].created_ms for queue in self._queues if queue.batches]
        for queue in list(self._out_of_order):
            created = [batch.created_ms for batch in list(queue.batches)]
            oldest += created
            if created == sorted(created):
                del self._out_of_order[queue]
        return min(oldest, default=NEVER_MS)

    def expired_batches(self, now_ms: int) -> list[ProducerBatch]:
        """Take out the queued batches that delivery.timeout.ms has passed, in sending order."""
        expired: list[ProducerBatch] = []
        timeout_ms = self.config.delivery_timeout_ms
        for queue in self._queues:
            head = queue.head()
            is_late = head is not None and head.has_reached_delivery_timeout(timeout_ms, now_ms)
            if not is_late and queue not in self._out_of_order:
                continue
            with queue.lock:
                queue.flush()
                for batch in [one for one in queue.batches if one.has_reached_delivery_timeout(timeout_ms, now_ms)]:
                    batch.close_for_record_appends()
                    queue.batches.remove(batch)
                    expired.append(batch)
        return expired

    def reenqueue(self, batch: ProducerBatch, now_ms: int) -> None:
        """Put a batch back whose attempt failed: in sequence order, or first without idempotence."""
        batch.reenqueued(now_ms, self._retry_backoff.backoff_ms(batch.attempts))
        queue = self._topic_info(batch.topic_partition.topic).queue(batch.topic_partition.partition)
        with queue.lock:
            self._put_back(queue, batch)

    def split_and_reenqueue(self, batch: ProducerBatch) -> list[ProducerBatch]:
        """Split a batch that was too large for the broker, queue the parts and return them in order."""
        codec = self.config.compression.codec
        topic = batch.topic_partition.topic
        self._estimator.set(topic, codec, max(1.0, batch.compression_ratio))
        target_bytes = self.config.batch_size
        if batch.is_split:
            # The broker takes less than batch.size: halve, until each record is alone.
            target_bytes = max(batch.max_record_size, batch.estimated_size_in_bytes // 2)
        parts = batch.split(target_bytes, self._next_number)
        queue = self._topic_info(topic).queue(batch.topic_partition.partition)
        with queue.lock:
            for part in reversed(parts):
                self._incomplete[part] = None
                if self._transactions is not None:
                    self._transactions.add_in_flight_batch(part)
                self._put_back(queue, part)
        self.observer.split(batch, parts)
        return parts

    def deallocate(self, batch: ProducerBatch) -> None:
        """A batch has ended and nothing points at its bytes: its memory goes back."""
        self._incomplete.pop(batch, None)
        self._ended_in_flight.pop(batch, None)
        granted, batch.granted_bytes = batch.granted_bytes, 0
        if granted:
            self.pool.deallocate(granted)
        self.observer.freed(batch, granted)

    def forget(self, batch: ProducerBatch) -> None:
        """A batch has ended but its request has not: its memory stays taken until then (KAFKA-19012)."""
        self._incomplete.pop(batch, None)
        self._ended_in_flight[batch] = None

    def deallocate_ended_in_flight(self) -> None:
        """All connections are closed: no request points at anything any more."""
        for batch in list(self._ended_in_flight):
            self.deallocate(batch)

    def mute_partition(self, key: TopicPartition) -> None:
        """Drain nothing of a partition while a batch of it is in flight."""
        self._muted.add(key)

    def unmute_partition(self, key: TopicPartition) -> None:
        """Drain the partition again."""
        self._muted.discard(key)

    @property
    def has_undrained(self) -> bool:
        """True if a batch waits to be sent."""
        return any([queue.batches for queue in self._queues])  # noqa: C419 - a generator takes longer here

    @property
    def has_incomplete(self) -> bool:
        """True if a batch has not ended, sent or not."""
        return bool(self._incomplete)

    def unacknowledged_records(self) -> int:
        """How many records were appended and have not ended."""
        buffered = sum(len(buffer) for queue in self._queues if (buffer := queue.append_buffer) is not None)
        return buffered + sum(batch.record_count for batch in self.incomplete_batches())

    def incomplete_batches(self) -> list[ProducerBatch]:
        """The batches that have not ended, oldest first."""
        return list(self._incomplete)

    # Flush, abort, close

    def begin_flush(self) -> list[ProducerBatch]:
        """Make everything sendable without lingering; return the incomplete batches, for which the flush waits."""
        with self._lock:
            self._flushes_in_progress += 1
        return self.incomplete_batches()

    def end_flush(self) -> None:
        """A flush is over."""
        with self._lock:
            self._flushes_in_progress -= 1

    def abort_batches(self, error: ProducerError) -> None:
        """End every batch that has not ended, sent or not."""
        for batch in self.incomplete_batches():
            self._take_out(batch)
            if not batch.is_done:
                error_of_batch = self._error_of_aborted(batch, error)
                batch.abort(error_of_batch)
                self.observer.completed(BatchEventKind.FAILED, batch, str(error_of_batch), error=type(error).__name__)
            if batch.in_flight:
                self.forget(batch)
            else:
                self.deallocate(batch)

    def abort_undrained_batches(self, error: ProducerError) -> None:
        """End the batches that were never sent."""
        for batch in self.incomplete_batches():
            if batch.in_flight or batch.has_sequence:
                continue
            self._take_out(batch)
            batch.abort(error)
            self.observer.completed(BatchEventKind.FAILED, batch, str(error), error=type(error).__name__)
            self.deallocate(batch)

    def close(self) -> None:
        """Take no more records; what is queued becomes sendable at once, and callers who wait are turned away."""
        self.closed = True
        self.pool.close()
        for queue in self._queues:
            with queue.lock:
                queue.flush()

    # Details

    def queue(self, key: TopicPartition) -> PartitionQueue | None:
        """The queue of a partition, None when nothing was ever appended to it."""
        info = self._topics.get(key.topic)
        return info.queues.get(key.partition) if info is not None else None

    def _topic_info(self, topic: str) -> TopicInfo:
        with self._lock:
            info = self._topics.get(topic)
            if info is None:
                partitioner = BuiltInPartitioner(topic, self.config.batch_size, self._random)
                info = self._topics[topic] = TopicInfo(topic, partitioner, self._queues)
            return info

    def _next_number(self) -> int:
        self._batches_made += 1
        return self._batches_made - 1

    def _new_batch(
        self,
        queue: PartitionQueue,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        granted_bytes: int,
        now_ms: int,
    ) -> ProducerBatch | None:
        magic = MAGIC_V2 if self._formats is None else self._formats.magic
        if magic < MAGIC_V2:
            self._check_old_format(granted_bytes)
        size = self.batch_memory(key, value, headers)
        if granted_bytes:
            if granted_bytes < size:
                raise IllegalState(f"a batch of {size} bytes was granted {granted_bytes}")
            size = granted_bytes
        elif not self.pool.try_allocate(size):
            return None
        with self._lock:
            number = self._next_number()
        make = ProducerBatch if magic == MAGIC_V2 else partial(MessageSetBatch, magic=magic)
        batch = make(
            queue.topic_partition,
            number=number,
            compression=self.config.compression,
            estimator=self._estimator,
            write_limit_bytes=size,
            granted_bytes=size,
            now_ms=now_ms,
        )
        self._incomplete[batch] = None
        self.observer.created(batch, waited=granted_bytes > 0)
        return batch

    def _check_old_format(self, granted_bytes: int) -> None:
        """True if this producer can send to brokers before 0.11 at all."""
        assert self._formats is not None
        try:
            self._formats.check_old()
        except ProducerError:
            self._give_back(granted_bytes)
            raise

    def _give_back(self, granted_bytes: int) -> None:
        if granted_bytes:
            self.pool.deallocate(granted_bytes)

    def _begin(
        self,
        batch: ProducerBatch,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        on_delivery: DeliveryCallback | None,
        now_ms: int,
    ) -> FutureRecordMetadata:
        """The first record, which fits always; a batch that it cannot be written to is no more."""
        try:
            future = batch.try_append(timestamp_ms, key, value, headers, on_delivery, now_ms)
        except BaseException:
            self.deallocate(batch)
            raise
        assert future is not None, "the first record fits always"
        return future

    def _close_last(self, batch: ProducerBatch) -> None:
        """Close the last batch of a queue, because the next record does not fit into it."""
        batch.close_for_record_appends()
        batch.pack()
        self.observer.closed(batch)

    @staticmethod
    def _switched_late(partitioner: BuiltInPartitioner, sticky: StickyPartition, cluster: Cluster) -> bool:
        """Make the switch that waited for the queue's last batch to be full, if one did."""
        partitioner.maybe_switch(sticky, cluster, enable_switch=True)
        return partitioner.sticky is not sticky

    def _ready_now(self) -> ReadyReason | None:
        """Return the reason for which every batch is ready, regardless of its age and size."""
        if self.pool.queued:
            return ReadyReason.MEMORY
        if self.closed:
            return ReadyReason.CLOSE
        if self._flushes_in_progress:
            return ReadyReason.FLUSH
        if self._transactions is not None and self._transactions.is_completing:
            return ReadyReason.TRANSACTION
        return None

    def _topic_ready(
        self,
        info: TopicInfo,
        cluster: Cluster,
        now_ms: int,
        result: ReadyCheckResult,
        ready_now: ReadyReason | None,
    ) -> None:
        led = self._led.get(info.topic)
        if led is None or led.cluster is not cluster or led.queues_in_all != len(info.queues):
            led = self._led[info.topic] = QueuesByLeader(info, cluster)
        sizes: Sequence[int] = [len(queue.batches) for queue in led.queues]
        partitions: Sequence[int] = led.partitions
        if any(sizes):
            for queue, leader in zip(led.queues, led.leaders, strict=True):
                if queue.batches:
                    self._batch_ready(queue, leader, cluster, now_ms, result, at_once=ready_now is not None)
                    self.observer.checked(queue, ready_now, now_ms)
            if self.config.availability_timeout_ms > 0:
                sizes, partitions = self._in_time(led, sizes)
        if led.without_leader and any(queue.batches for queue in led.without_leader):
            result.unknown_leader_topics[info.topic] = None
        adaptive = self.config.adaptive_partitioning and led.queues_in_all >= cluster.partition_count(info.topic)
        info.partitioner.update_load_stats(sizes if adaptive else None, partitions, led.queues_in_all)

    def _in_time(self, led: QueuesByLeader, sizes: Sequence[int]) -> tuple[list[int], list[int]]:
        """The sizes and partitions without those that a slow node leads.

        With nothing queued a slow node may be chosen again: otherwise its recovery would stay unnoticed.
        """
        chosen = [
            (size, partition)
            for size, partition, leader in zip(sizes, led.partitions, led.leaders, strict=True)
            if not (size and self.node_latencies.is_slow(leader))
        ]
        return [size for size, _ in chosen], [partition for _, partition in chosen]

    def _batch_ready(
        self,
        queue: PartitionQueue,
        leader: int,
        cluster: Cluster,
        now_ms: int,
        result: ReadyCheckResult,
        *,
        at_once: bool,
    ) -> None:
        key = queue.topic_partition
        if leader in result.ready_nodes or key in self._muted:
            return
        batch = queue.head()
        if batch is None:
            return
        # A caller who makes it full a moment later wakes the Sender.
        full = len(queue.batches) > 1 or batch.is_full
        batch.update_leader_epoch(cluster.leader_epoch_for(key))
        backing_off = batch.is_backing_off(now_ms)
        waited_ms = batch.waited_ms(now_ms)
        time_to_wait_ms = batch.retry_backoff_ms if backing_off else self.config.linger_ms
        if not backing_off and (full or at_once or waited_ms >= time_to_wait_ms):
            result.ready_nodes[leader] = None
        else:
            left_ms = max(time_to_wait_ms - waited_ms, 0)
            result.next_ready_check_ms = min(result.next_ready_check_ms, left_ms)

    def _put_back(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        """Before the first queued batch with a larger sequence. Mirrors insertInSequenceOrder."""
        if self._transactions is None:
            if queue.batches and queue.batches[0].created_ms < batch.created_ms:
                self._out_of_order[queue] = None
            queue.batches.appendleft(batch)
            return
        if not batch.has_sequence:
            raise IllegalState(f"a batch for {batch.topic_partition} comes back without a sequence")
        position = 0
        for queued in queue.batches:
            if not queued.has_sequence or queued.base_sequence >= batch.base_sequence:
                break
            position += 1
        queue.batches.insert(position, batch)

    def _take_out(self, batch: ProducerBatch) -> None:
        queue = self.queue(batch.topic_partition)
        if queue is None:
            return
        with queue.lock:
            queue.flush()
            batch.close_for_record_appends()
            queue.batches = deque(queued for queued in queue.batches if queued is not batch)

    @staticmethod
    def _error_of_aborted(batch: ProducerBatch, error: ProducerError) -> ProducerError:
        if not (batch.in_flight or batch.maybe_written):
            return error
        of_batch = type(error).__new__(type(error), *error.args)  # not every error's constructor takes its args
        vars(of_batch).update(vars(error))
        of_batch.maybe_written = True
        return of_batch
