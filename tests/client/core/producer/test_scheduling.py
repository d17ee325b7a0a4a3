"""Which nodes are ready and why, and which batches their requests get: beside a model of the bare rules."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from broker_client.core.batching.buffer_pool import BufferPool, MemoryWaiter
from broker_client.core.batching.record_accumulator import AccumulatorConfig, RecordAccumulator
from broker_client.core.network.cluster import Cluster, Node, TopicMetadata
from broker_client.records import PartitionInfo, TopicPartition
from sim_runtime.backoff import ExponentialBackoff

if TYPE_CHECKING:
    from broker_client.core.batching.producer_batch import ProducerBatch

BATCH_SIZE = 200
LINGER_MS = 50
BACKOFF_MS, BACKOFF_MAX_MS = 100, 400
PARTITIONS = 5
NEVER_MS = 1 << 62
MEMORY = 100_000


def accumulator_of(pool: BufferPool) -> RecordAccumulator:
    return RecordAccumulator(
        config=AccumulatorConfig(batch_size=BATCH_SIZE, linger_ms=LINGER_MS, delivery_timeout_ms=100_000),
        pool=pool,
        retry_backoff=ExponentialBackoff(BACKOFF_MS, BACKOFF_MAX_MS, 2, 0, random.Random(1)),
        transactions=None,
        random=random.Random(1),
        wakeup=lambda: None,
    )


def cluster_of(leaders: list[int | None], epochs: list[int]) -> Cluster:
    partitions = tuple(
        PartitionInfo(
            topic="t",
            partition=index,
            leader=leader,
            leader_epoch=epochs[index],
            replicas=(),
            in_sync_replicas=(),
            offline_replicas=(),
        )
        for index, leader in enumerate(leaders)
    )
    topic = TopicMetadata(name="t", topic_id=None, partitions=partitions)
    return Cluster(nodes={1: Node(1, "h1", 1), 2: Node(2, "h2", 2)}, topics={"t": topic})


def append(accumulator: RecordAccumulator, cluster: Cluster, partition: int, size: int, now_ms: int) -> None:
    response = accumulator.append("t", partition, now_ms, None, b"x" * size, (), None, now_ms, cluster)
    assert response is not None


@dataclass(slots=True, kw_only=True, eq=False)
class Known:
    """The model of one batch; it does not read attempts, back-off and epochs of the real one."""

    batch: ProducerBatch
    since_ms: int
    failures: int = 0
    epoch_at_failure: int = -1

    def backs_off(self, now_ms: int, epoch: int) -> bool:
        backoff_ms = min(BACKOFF_MS * 2 ** (self.failures - 1), BACKOFF_MAX_MS)
        return bool(self.failures) and epoch <= self.epoch_at_failure and now_ms - self.since_ms < backoff_ms

    def left_ms(self, now_ms: int, epoch: int) -> int:
        waits_ms = LINGER_MS
        if self.backs_off(now_ms, epoch):
            waits_ms = min(BACKOFF_MS * 2 ** (self.failures - 1), BACKOFF_MAX_MS)
        return max(self.since_ms + waits_ms - now_ms, 0)


class SchedulingMachine(RuleBasedStateMachine):
    @initialize(leaders=st.lists(st.sampled_from([1, 1, 2, None]), min_size=PARTITIONS, max_size=PARTITIONS))
    def start(self, leaders: list[int | None]) -> None:
        self.pool = BufferPool(MEMORY, BATCH_SIZE)
        self.accumulator = accumulator_of(self.pool)
        self.leaders = leaders
        self.epochs = [0] * PARTITIONS
        self.queues: list[deque[Known]] = [deque() for _ in leaders]
        self.in_flight: list[Known] = []
        self.muted: dict[int, None] = {}
        self.waiters: list[MemoryWaiter] = []
        self.flushes = 0
        self.indexes = {1: 0, 2: 0}
        self.now_ms = 1_000

    @property
    def cluster(self) -> Cluster:
        return cluster_of(self.leaders, self.epochs)

    @rule(partition=st.integers(0, PARTITIONS - 1), size=st.integers(0, 250), count=st.integers(1, 3))
    def append(self, partition: int, size: int, count: int) -> None:
        if self.accumulator.closed or self.waiters:
            return
        known = [one.batch for queue in [*self.queues, self.in_flight] for one in queue]
        for _ in range(count):
            append(self.accumulator, self.cluster, partition, size, self.now_ms)
        for batch in self.accumulator.incomplete_batches():
            if batch not in known:
                self.queues[partition].append(Known(batch=batch, since_ms=self.now_ms))

    @rule(ms=st.one_of(st.integers(0, 20), st.integers(0, 300)))
    def let_time_pass(self, ms: int) -> None:
        self.now_ms += ms

    @rule(partition=st.integers(0, PARTITIONS - 1), leader=st.sampled_from([1, 2, None]))
    def move_a_leader(self, partition: int, leader: int | None) -> None:
        self.leaders[partition] = leader
        self.epochs[partition] += 1

    @rule(partition=st.integers(0, PARTITIONS - 1))
    def mute_or_unmute(self, partition: int) -> None:
        key = TopicPartition("t", partition)
        if partition in self.muted:
            del self.muted[partition]
            self.accumulator.unmute_partition(key)
        else:
            self.muted[partition] = None
            self.accumulator.mute_partition(key)

    @rule()
    def begin_or_end_a_flush(self) -> None:
        if self.flushes:
            self.flushes = 0
            self.accumulator.end_flush()
        else:
            self.flushes = 1
            self.accumulator.begin_flush()

    @rule()
    def wait_for_memory_or_give_up(self) -> None:
        if self.waiters:
            self.waiters.pop().abandon()
        elif self.pool.available_bytes < MEMORY:
            self.waiters.append(self.pool.wait(MEMORY, self.memory_is_there))

    def memory_is_there(self) -> None:
        if self.waiters and not self.accumulator.closed:
            self.pool.deallocate(self.waiters.pop().size_bytes)

    @precondition(lambda self: len(self.accumulator.incomplete_batches()) > 2)
    @rule()
    def close(self) -> None:
        self.accumulator.close()
        self.waiters.clear()

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data(), fails=st.booleans())
    def end_a_request(self, data: st.DataObject, fails: bool) -> None:
        one = self.in_flight.pop(data.draw(st.integers(0, len(self.in_flight) - 1)))
        partition = one.batch.topic_partition.partition
        one.batch.request_ended()
        if not fails:
            one.batch.complete(0, -1)
            self.accumulator.deallocate(one.batch)
            return
        one.failures += 1
        one.since_ms = self.now_ms
        one.epoch_at_failure = one.batch.leader_epoch
        self.accumulator.reenqueue(one.batch, self.now_ms)
        self.queues[partition].appendleft(one)

    @rule(max_size=st.one_of(st.integers(0, 600), st.just(MEMORY)), nodes=st.permutations([1, 2]))
    def drain(self, max_size: int, nodes: list[int]) -> None:
        expected = {node: self.model_of_drain(node, max_size) for node in nodes}
        drained = self.accumulator.drain(self.cluster, nodes, max_size, self.now_ms)
        assert list(drained) == nodes
        assert drained == {node: [one.batch for one in batches] for node, batches in expected.items()}
        for node, batches in drained.items():
            assert len(batches) <= 1 or sum(len(batch.close()) for batch in batches) <= max_size
            for batch in batches:
                assert self.leaders[batch.topic_partition.partition] == node

    def model_of_drain(self, node: int, max_size: int) -> list[Known]:
        partitions = [index for index, leader in enumerate(self.leaders) if leader == node]
        taken: list[Known] = []
        size = 0
        start = self.indexes[node] % len(partitions) if partitions else 0
        for partition in partitions[start:] + partitions[:start]:
            self.indexes[node] = partitions.index(partition)
            queue = self.queues[partition]
            if partition in self.muted or not queue or queue[0].backs_off(self.now_ms, self.epochs[partition]):
                continue
            if taken and size + queue[0].batch.estimated_size_in_bytes > max_size:
                break
            taken.append(queue.popleft())
            size += taken[-1].batch.estimated_size_in_bytes
        self.in_flight.extend(taken)
        return taken

    @invariant()
    def nodes_are_ready_for_a_reason(self) -> None:
        if not hasattr(self, "queues"):
            return
        result = self.accumulator.ready(self.cluster, self.now_ms)
        at_once = bool(self.waiters) or self.accumulator.closed or self.flushes > 0
        ready, waits_ms, leaderless = [], [NEVER_MS], False
        for partition, queue in enumerate(self.queues):
            leader = self.leaders[partition]
            if not queue:
                continue
            if leader is None:
                leaderless = True
                continue
            if partition in self.muted:
                continue
            head, epoch = queue[0], self.epochs[partition]
            full = len(queue) > 1 or head.batch.is_full
            left_ms = head.left_ms(self.now_ms, epoch)
            if not head.backs_off(self.now_ms, epoch) and (full or at_once or left_ms == 0):
                ready.append(leader)
            else:
                waits_ms.append(left_ms)
        assert sorted(result.ready_nodes) == sorted(dict.fromkeys(ready))
        assert bool(result.unknown_leader_topics) == leaderless
        if ready:
            # What stands behind a ready node's partition is not looked at any more.
            assert result.next_ready_check_ms >= min(waits_ms)
        else:
            assert result.next_ready_check_ms == min(waits_ms)


TestScheduling = SchedulingMachine.TestCase
TestScheduling.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)


def parts(leaders: list[int | None]) -> tuple[RecordAccumulator, Cluster]:
    return accumulator_of(BufferPool(10_000_000, BATCH_SIZE)), cluster_of(leaders, [0] * len(leaders))


@given(
    sizes=st.lists(st.integers(1, 400), min_size=1, max_size=8),
    max_size=st.integers(0, 1_500),
    muted=st.sets(st.integers(0, 7), max_size=3),
)
@settings(max_examples=60)
def test_no_partition_starves_however_small_requests_are(sizes: list[int], max_size: int, muted: set[int]) -> None:
    accumulator, cluster = parts([1] * len(sizes))
    open_partitions = [partition for partition in range(len(sizes)) if partition not in muted]
    for partition in sorted(muted):
        accumulator.mute_partition(TopicPartition("t", partition))
    last_served = dict.fromkeys(open_partitions, 0)
    for turn in range(1, 4 * len(sizes) + 1):
        for partition, size in enumerate(sizes):
            append(accumulator, cluster, partition, size, 0)
        (batches,) = accumulator.drain(cluster, [1], max_size, LINGER_MS).values()
        for batch in batches:
            last_served[batch.topic_partition.partition] = turn
        assert all(turn - served < len(sizes) for served in last_served.values())


@given(count=st.integers(1, 8), room=st.integers(1, 9))
@settings(max_examples=40)
def test_equal_batches_take_equal_turns(count: int, room: int) -> None:
    accumulator, cluster = parts([1] * count)
    served = dict.fromkeys(range(count), 0)
    size = 0
    for _ in range(3 * count):
        for partition in range(count):
            append(accumulator, cluster, partition, BATCH_SIZE, 0)
        size = size or accumulator.incomplete_batches()[0].estimated_size_in_bytes
        (batches,) = accumulator.drain(cluster, [1], room * size, 0).values()
        assert len(batches) == min(room, count)
        for batch in batches:
            served[batch.topic_partition.partition] += 1
        assert max(served.values()) - min(served.values()) <= 1


@given(leaders=st.lists(st.sampled_from([1, 2]), min_size=2, max_size=6), data=st.data())
@settings(max_examples=60)
def test_one_node_s_requests_change_nothing_for_another(leaders: list[int | None], data: st.DataObject) -> None:
    """Each node has an index of its own: how often one is drained does not shift where the other's walk begins."""
    alone, cluster = parts(leaders)
    beside, _ = parts(leaders)
    turns: dict[str, list[Any]] = {"alone": [], "beside": []}
    for _ in range(8):
        for accumulator in (alone, beside):
            for partition in range(len(leaders)):
                append(accumulator, cluster, partition, BATCH_SIZE, 0)
        for _ in range(data.draw(st.integers(0, 2))):
            beside.drain(cluster, [2], 1, 0)
        for name, accumulator in (("alone", alone), ("beside", beside)):
            (batches,) = accumulator.drain(cluster, [1], 1, 0).values()
            turns[name].append([batch.topic_partition.partition for batch in batches])
    assert turns["alone"] == turns["beside"]
