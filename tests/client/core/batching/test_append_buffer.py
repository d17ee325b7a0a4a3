"""The append buffer equals RecordAccumulator.append: it changes nothing but the time that a record takes."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_client.core.batching.append_buffer import AppendBuffers
from broker_client.core.batching.buffer_pool import BufferPool
from broker_client.core.batching.producer_batch import Compression
from broker_client.core.batching.record_accumulator import AccumulatorConfig, RecordAccumulator
from broker_client.core.network.cluster import Cluster, Node, TopicMetadata
from broker_client.core.network.metadata import Metadata
from broker_client.errors import ProducerClosed
from broker_client.records import UNKNOWN_PARTITION, PartitionInfo
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.record_batch import read_records
from sim_runtime.backoff import ExponentialBackoff

if TYPE_CHECKING:
    from broker_client.core.batching.partition_queue import PartitionQueue
    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.core.producer.future_record_metadata import FutureRecordMetadata
    from broker_client.records import Headers

PARTITIONS = 3
RECORD_SIZE_MAX = 1_000_000
BATCH_RECORDS_KNOWN = 8192  # up to this offset one table of sizes does


@dataclass(frozen=True, slots=True)
class Sent:
    """`count` equal records in a row."""

    count: int
    size: int | None
    key: bytes | None = None
    headers: Headers = ()
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class Passed:
    """Virtual time advances."""

    us: int


Step: TypeAlias = "Sent | Passed | str"


def cluster() -> Cluster:
    partitions = tuple(
        PartitionInfo(
            topic="t",
            partition=index,
            leader=1,
            leader_epoch=0,
            replicas=(),
            in_sync_replicas=(),
            offline_replicas=(),
        )
        for index in range(PARTITIONS)
    )
    topic = TopicMetadata(name="t", topic_id=None, partitions=partitions)
    return Cluster(nodes={1: Node(1, "h1", 1)}, topics={"t": topic})


@dataclass(kw_only=True)
class Side:
    """An accumulator, with append buffers or without, and its observable results so far."""

    batch_size: int
    codec: CompressionCodec = CompressionCodec.NONE
    with_buffers: bool = True
    now_us: int = 1_000_000
    wakeups: int = 0
    buffered: int = 0
    results: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        backoff = ExponentialBackoff(100, 1_000, 2, 0, random.Random(1))
        self.metadata = Metadata(bootstrap=(), refresh_backoff=backoff, expire_ms=300_000, idle_ms=300_000)
        self.metadata.cluster = cluster()
        self.append_buffers = AppendBuffers(self.metadata, self.seconds, RECORD_SIZE_MAX)
        self.accumulator = RecordAccumulator(
            config=AccumulatorConfig(
                batch_size=self.batch_size,
                linger_ms=5,
                delivery_timeout_ms=100,
                compression=Compression(codec=self.codec),
            ),
            pool=BufferPool(1 << 30, self.batch_size),
            retry_backoff=backoff,
            transactions=None,
            random=random.Random(1),
            wakeup=self.wake,
            append_buffers=self.append_buffers if self.with_buffers else None,
        )

    def seconds(self) -> float:
        return self.now_us / 1e6

    def wake(self) -> None:
        self.wakeups += 1

    @property
    def now_ms(self) -> int:
        return self.now_us // 1000

    @property
    def queue(self) -> PartitionQueue:
        (queue,) = self.accumulator.topic_info("t").queues.values()
        return queue

    def send(
        self,
        value: bytes | None,
        key: bytes | None = None,
        headers: Headers = (),
        partition: int | None = None,
    ) -> FutureRecordMetadata:
        """As ProducerCore.try_append."""
        future = None
        plain = key is None and not headers and partition is None
        buffer = self.append_buffers.by_topic.get("t")
        if plain and value is not None and buffer is not None:
            future = buffer.append(value, self.delivered)
            self.buffered += future is not None
        if future is None:
            future = self.accumulator.append(
                "t",
                UNKNOWN_PARTITION if partition is None else partition,
                self.now_ms,
                key,
                value,
                headers,
                self.delivered if plain else None,
                self.now_ms,
                self.metadata.cluster,
            )
        assert future is not None
        return future

    def delivered(self, metadata: object, _: object) -> None:
        self.results.append(metadata)

    def take(self, step: Step) -> None:
        if isinstance(step, Sent):
            for number in range(step.count):
                value = None if step.size is None else bytes((number % 256,)) * step.size
                future = self.send(value, step.key, step.headers, step.partition)
                self.results.append((future.batch_result.topic_partition, future[1:]))
        elif isinstance(step, Passed):
            self.now_us += step.us
        elif step == "new metadata":
            self.metadata.cluster = cluster()
        elif step == "drain":
            drained = self.accumulator.drain(self.metadata.cluster, [1], 1 << 20, self.now_ms)
            self.ended([batch for batches in drained.values() for batch in batches])
        elif step == "expire":
            self.ended(self.accumulator.expired_batches(self.now_ms))
        self.results.append((self.wakeups, self.accumulator.unacknowledged_records()))

    def ended(self, batches: list[ProducerBatch]) -> None:
        for batch in batches:
            described = batch.topic_partition, batch.record_count, batch.max_record_size, batch.last_append_ms
            self.results.append((*described, batch.estimated_size_in_bytes, batch.is_full, batch.close()))
            if batch.in_flight:
                batch.request_ended()
            batch.complete(0, -1)
            self.accumulator.deallocate(batch)


sizes = st.one_of(st.none(), st.integers(0, 200), st.sampled_from([8_170, 8_192, 20_000]))
plain = st.builds(Sent, count=st.integers(1, 80), size=sizes)
others = st.builds(
    Sent,
    count=st.integers(1, 3),
    size=sizes,
    key=st.sampled_from([None, b"k"]),
    headers=st.sampled_from([(), (("h", b"1"),)]),
    partition=st.sampled_from([None, 0, 1]),
)
time = st.builds(Passed, st.sampled_from([1, 300, 999, 1_000, 7_000, 200_000]))
steps = st.one_of(plain, plain, others, time, st.sampled_from(["drain", "expire", "new metadata"]))


@given(
    st.lists(steps, max_size=30),
    st.sampled_from([0, 200, 1_000, 16_384, 100_000]),
    st.sampled_from([CompressionCodec.NONE, CompressionCodec.GZIP]),
)
@settings(deadline=None)
def test_both_paths_give_equal_results(program: list[Step], batch_size: int, codec: CompressionCodec) -> None:
    fast = Side(batch_size=batch_size, codec=codec)
    slow = Side(batch_size=batch_size, codec=codec, with_buffers=False)
    for step in [*program, *["drain"] * PARTITIONS]:
        fast.take(step)
        slow.take(step)
        assert fast.results == slow.results


def test_most_records_of_a_batch_take_the_fast_path() -> None:
    side = Side(batch_size=16_384)
    side.take(Sent(100, 100))
    assert side.buffered == 97


def test_batches_whose_offsets_need_three_bytes_are_equal() -> None:
    fast, slow = Side(batch_size=1 << 20), Side(batch_size=1 << 20, with_buffers=False)
    for side in (fast, slow):
        for step in (Sent(BATCH_RECORDS_KNOWN + 100, 5), Sent(30_000, 0), Sent(30, 7), "drain"):
            side.take(step)
    assert fast.results == slow.results
    assert fast.buffered > 30_000


def test_a_buffer_ends_with_its_millisecond_its_metadata_and_its_producer() -> None:
    for ends in (Passed(1_000), "new metadata"):
        side = Side(batch_size=16_384)
        side.take(Sent(5, 10))
        buffered = side.buffered
        side.take(ends)
        side.take(Sent(1, 10))
        assert side.buffered == buffered > 0
    side = Side(batch_size=16_384)
    side.take(Sent(5, 10))
    side.accumulator.close()
    with pytest.raises(ProducerClosed):
        side.send(b"late")
    assert side.append_buffers.by_topic == {}


def test_an_aborted_batch_fails_the_records_of_its_buffer() -> None:
    side = Side(batch_size=16_384)
    futures = [side.send(b"x") for _ in range(5)]
    assert side.buffered == 2
    side.accumulator.abort_undrained_batches(ProducerClosed("over"))
    assert [type(future.exception(0)) for future in futures] == [ProducerClosed] * 5
    assert side.accumulator.unacknowledged_records() == 0


class FlushingValues(list[bytes]):
    """The values of a buffer that another thread flushes just before or just after the next of them is kept."""

    def __init__(self, side: Side, *, before: bool) -> None:
        super().__init__()
        self.side = side
        self.before = before

    def append(self, value: bytes) -> None:
        queue = self.side.queue
        if self.before:
            with queue.lock:
                queue.flush()
        super().append(value)
        if not self.before:
            with queue.lock:
                queue.flush()


@pytest.mark.parametrize("before", [False, True])
def test_a_record_survives_a_concurrent_flush(before: bool) -> None:
    side = Side(batch_size=16_384)
    sent = [side.send(b"%d" % number) for number in range(3)]
    buffer = side.queue.append_buffer
    assert buffer is not None
    buffer._values = FlushingValues(side, before=before)
    sent.append(side.send(b"3"))
    assert side.buffered == (0 if before else 1)
    sent += [side.send(b"%d" % number) for number in range(4, 6)]
    drained = side.accumulator.drain(side.metadata.cluster, [1], 1 << 20, side.now_ms)
    side.ended([batch for batches in drained.values() for batch in batches])
    assert [future.batch_index for future in sent] == list(range(6))
    (*_, written), *delivered = side.results
    assert [record.value for record in read_records(written)] == [b"%d" % number for number in range(6)]
    assert [metadata.offset for metadata in delivered] == list(range(6))


def test_a_buffer_belongs_to_its_thread() -> None:
    side = Side(batch_size=16_384)
    for number in range(4):
        side.send(b"%d" % number)
    buffered = side.buffered
    other = threading.Thread(target=lambda: [side.send(b"other") for _ in range(2)])
    other.start()
    other.join(60)
    assert side.buffered == buffered == 1
    side.send(b"after")
    assert side.buffered == buffered


def test_records_of_several_threads_are_written_once_each_in_the_order_of_their_thread() -> None:
    side = Side(batch_size=2_000)
    threads, each = 4, 3_000
    batches: list[ProducerBatch] = []
    ended = threading.Event()

    def send(thread: int) -> None:
        for number in range(each):
            side.send(b"%d:%d" % (thread, number))

    def drain() -> None:
        while not ended.is_set() or side.accumulator.has_undrained:
            drained = side.accumulator.drain(side.metadata.cluster, [1], 1 << 20, side.now_ms)
            batches.extend(batch for one in drained.values() for batch in one)

    workers = [threading.Thread(target=send, args=(number,)) for number in range(threads)]
    drainer = threading.Thread(target=drain)
    for worker in (*workers, drainer):
        worker.start()
    for worker in workers:
        worker.join(60)
    ended.set()
    drainer.join(60)
    sent: dict[bytes, dict[int, list[int]]] = {}
    for batch in batches:
        records = read_records(batch.close())
        assert len(records) == batch.record_count
        for record in records:
            assert record.value is not None
            thread, number = record.value.split(b":")
            sent.setdefault(thread, {}).setdefault(batch.topic_partition.partition, []).append(int(number))
    assert side.buffered > 0
    for partitions in sent.values():
        assert all(numbers == sorted(numbers) for numbers in partitions.values())
        assert sorted(number for numbers in partitions.values() for number in numbers) == list(range(each))
    assert len(sent) == threads
