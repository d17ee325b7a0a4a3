"""The accumulator alone: what is ready, what is drained, what is put back, and what every append costs in memory."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from broker_client.core.batching.batch_observer import BatchObserver
from broker_client.core.batching.buffer_pool import BufferPool
from broker_client.core.batching.record_accumulator import AccumulatorConfig, RecordAccumulator
from broker_client.core.network.cluster import Cluster, Node, TopicMetadata
from broker_client.errors import ProducerClosed, ProducerError
from broker_client.records import UNKNOWN_PARTITION, PartitionInfo, TopicPartition
from sim_runtime.backoff import ExponentialBackoff

if TYPE_CHECKING:
    from broker_client.core.batching.producer_batch import ProducerBatch

NEVER_MS = 1 << 62
BATCH_SIZE = 200


class CreatedBatches(BatchObserver):
    """The partition of each batch, in the order in which they were created."""

    def __init__(self) -> None:
        self.partitions: list[int] = []

    def created(self, batch: ProducerBatch, *, waited: bool) -> None:  # noqa: ARG002 - as BatchObserver
        self.partitions.append(batch.topic_partition.partition)


class Parts:
    """An accumulator with a cluster of two nodes: partitions 0 and 2 of `t` at node 1, 1 and 3 at node 2."""

    def __init__(self, **options: Any) -> None:
        self.woken = 0
        self.batches = CreatedBatches()
        self.pool = BufferPool(options.pop("memory", 10_000), BATCH_SIZE)
        self.accumulator = RecordAccumulator(
            config=AccumulatorConfig(
                **{"batch_size": BATCH_SIZE, "linger_ms": 5, "delivery_timeout_ms": 1_000, **options}
            ),
            pool=self.pool,
            retry_backoff=ExponentialBackoff(100, 1_000, 2, 0, random.Random(1)),
            transactions=None,
            random=random.Random(1),
            wakeup=self.wake,
            observer=self.batches,
        )
        self.cluster = self.cluster_of([1, 2, 1, 2])

    def wake(self) -> None:
        self.woken += 1

    @staticmethod
    def cluster_of(leaders: list[int | None], epoch: int = 0) -> Cluster:
        partitions = tuple(
            PartitionInfo(
                topic="t",
                partition=index,
                leader=leader,
                leader_epoch=epoch,
                replicas=(),
                in_sync_replicas=(),
                offline_replicas=(),
            )
            for index, leader in enumerate(leaders)
        )
        topic = TopicMetadata(name="t", topic_id=None, partitions=partitions)
        return Cluster(nodes={1: Node(1, "h1", 1), 2: Node(2, "h2", 2)}, topics={"t": topic})

    def append(self, partition: int = 0, now_ms: int = 0, value: bytes = b"x" * 50, granted: int = 0) -> Any:
        return self.accumulator.append(
            "t", partition, now_ms, None, value, (), None, now_ms, self.cluster, granted_bytes=granted
        )

    def ready(self, now_ms: int = 0) -> Any:
        return self.accumulator.ready(self.cluster, now_ms)

    def drain(self, now_ms: int = 0, nodes: tuple[int, ...] = (1, 2), max_size: int = 10_000) -> dict[int, list[int]]:
        drained = self.accumulator.drain(self.cluster, nodes, max_size, now_ms)
        self.drained = [batch for batches in drained.values() for batch in batches]
        return {node: [batch.topic_partition.partition for batch in batches] for node, batches in drained.items()}


@pytest.fixture
def parts() -> Parts:
    return Parts()


def test_the_sender_is_woken_for_a_new_batch_and_for_a_full_one_only(parts: Parts) -> None:
    parts.append()
    assert parts.woken == 1
    parts.append()
    assert parts.woken == 1
    parts.append()
    assert parts.woken == 2


def test_a_batch_is_ready_when_its_linger_is_over(parts: Parts) -> None:
    parts.append(now_ms=100)
    assert (list(parts.ready(104).ready_nodes), parts.ready(104).next_ready_check_ms) == ([], 1)
    assert list(parts.ready(105).ready_nodes) == [1]


def test_a_second_batch_makes_the_first_one_ready(parts: Parts) -> None:
    for _ in range(3):
        parts.append(1)
    assert list(parts.ready().ready_nodes) == [2]


def test_flush_close_and_waiting_callers_make_everything_ready(parts: Parts) -> None:
    parts.append()
    parts.accumulator.begin_flush()
    assert list(parts.ready().ready_nodes) == [1]
    parts.accumulator.end_flush()
    assert list(parts.ready().ready_nodes) == []
    waiter = parts.pool.wait(9_900, list)
    assert list(parts.ready().ready_nodes) == [1]
    waiter.abandon()
    parts.accumulator.close()
    assert list(parts.ready().ready_nodes) == [1]


def test_a_topic_without_leader_is_reported(parts: Parts) -> None:
    parts.append(1)
    parts.cluster = parts.cluster_of([1, None])
    assert list(parts.ready(5).unknown_leader_topics) == ["t"]


def test_a_muted_partition_is_neither_ready_nor_drained(parts: Parts) -> None:
    parts.append()
    parts.accumulator.mute_partition(TopicPartition("t", 0))
    assert list(parts.ready(5).ready_nodes) == []
    assert parts.drain(5) == {1: [], 2: []}
    parts.accumulator.unmute_partition(TopicPartition("t", 0))
    assert parts.drain(5) == {1: [0], 2: []}


def test_a_drain_takes_one_batch_a_partition_and_stops_at_the_size(parts: Parts) -> None:
    for partition in (0, 0, 0, 2, 2, 2):
        parts.append(partition)
    assert parts.drain(max_size=400) == {1: [0, 2], 2: []}
    assert parts.drain(max_size=50) == {1: [2], 2: []}
    assert parts.drain(max_size=50) == {1: [0], 2: []}


def test_a_retry_waits_for_its_back_off_or_a_newer_leader(parts: Parts) -> None:
    parts.append()
    parts.drain()
    (batch,) = parts.drained
    batch.request_ended()
    parts.accumulator.reenqueue(batch, 10)
    assert (list(parts.ready(109).ready_nodes), parts.ready(109).next_ready_check_ms) == ([], 1)
    assert list(parts.ready(110).ready_nodes) == [1]
    parts.drain(110)
    batch.request_ended()
    parts.accumulator.reenqueue(batch, 120)
    assert list(parts.ready(121).ready_nodes) == []
    parts.cluster = parts.cluster_of([2], epoch=1)
    assert list(parts.ready(121).ready_nodes) == [2]


def test_a_retry_goes_before_what_was_queued_behind_it(parts: Parts) -> None:
    parts.append(value=b"first" * 30)
    parts.append(value=b"second" * 25)
    parts.drain()
    (first,) = parts.drained
    first.request_ended()
    parts.accumulator.reenqueue(first, 0)
    parts.drain(200)
    assert parts.drained == [first]


def test_expired_batches_leave_in_sending_order(parts: Parts) -> None:
    parts.append(now_ms=0)
    parts.append(0, now_ms=10, value=b"y" * 150)
    parts.append(1, now_ms=500)
    assert parts.accumulator.first_created_ms() == 0
    expired = parts.accumulator.expired_batches(1_010)
    assert [batch.created_ms for batch in expired] == [0, 10]
    assert parts.accumulator.first_created_ms() == 500


def test_without_memory_an_append_returns_none_and_succeeds_with_a_grant() -> None:
    parts = Parts(memory=BATCH_SIZE)
    assert parts.append(0) is not None
    assert parts.append(0) is not None, "what fits needs no memory"
    assert parts.append(1) is None
    granted: list[int] = []
    waiter = parts.pool.wait(parts.accumulator.batch_memory(None, b"x" * 50, ()), lambda: granted.append(1))
    parts.drain(5)
    for batch in parts.drained:
        batch.request_ended()
        batch.complete(0, -1)
        parts.accumulator.deallocate(batch)
    assert granted
    assert parts.append(1, granted=waiter.size_bytes) is not None
    assert parts.pool.available_bytes == 0


def test_a_grant_that_is_not_needed_goes_back(parts: Parts) -> None:
    parts.append()
    assert parts.pool.try_allocate(BATCH_SIZE)
    before = parts.pool.available_bytes
    parts.append(granted=BATCH_SIZE)
    assert parts.pool.available_bytes == before + BATCH_SIZE


def test_a_record_that_cannot_be_encoded_leaves_nothing_behind(parts: Parts) -> None:
    with pytest.raises(TypeError):
        parts.append(value=3)  # type: ignore[arg-type]
    assert parts.pool.available_bytes == parts.pool.memory_bytes
    assert not parts.accumulator.has_incomplete


def test_abort_ends_everything_and_keeps_the_memory_of_what_is_in_flight(parts: Parts) -> None:
    futures = [parts.append(partition) for partition in range(4)]
    parts.drain(nodes=(1,))
    parts.accumulator.abort_batches(ProducerClosed("closed by force"))
    errors: list[ProducerError] = [future.exception(0) for future in futures]
    assert [error.maybe_written for error in errors] == [True, False, True, False]
    assert not parts.accumulator.has_undrained
    assert parts.pool.available_bytes == parts.pool.memory_bytes - 2 * BATCH_SIZE
    parts.accumulator.deallocate_ended_in_flight()
    assert parts.pool.available_bytes == parts.pool.memory_bytes


def test_a_closed_accumulator_takes_no_records(parts: Parts) -> None:
    parts.accumulator.close()
    with pytest.raises(ProducerClosed):
        parts.append()


def test_records_without_key_stick_to_a_partition_and_then_move_on(parts: Parts) -> None:
    for _ in range(40):
        parts.append(UNKNOWN_PARTITION)
    created = parts.batches.partitions
    # A batch of 200 takes two records and is not full then: the switch comes at twice the size, with the fifth record.
    assert [len(set(created[index : index + 3])) for index in range(0, 9, 3)] == [1, 1, 1]
    assert set(created) == {0, 1, 2, 3}


def test_a_node_that_does_not_take_what_is_ready_is_left_out_of_the_choice() -> None:
    parts = Parts(availability_timeout_ms=100)
    for partition in range(4):
        parts.append(partition)
    parts.accumulator.node_latencies.update(1, 0, can_drain=True)
    parts.accumulator.node_latencies.update(2, 0, can_drain=True)
    parts.accumulator.node_latencies.update(2, 101, can_drain=False)
    parts.ready(101)
    for _ in range(60):
        parts.append(UNKNOWN_PARTITION, now_ms=101)
    created = parts.batches.partitions
    assert set(created[6:]) <= {0, 2}


def test_a_slow_node_is_chosen_again_once_what_waited_for_it_has_expired() -> None:
    parts = Parts(availability_timeout_ms=100)
    for partition in range(4):
        parts.append(partition)
    parts.accumulator.node_latencies.update(2, 0, can_drain=True)
    parts.accumulator.node_latencies.update(2, 101, can_drain=False)
    parts.ready(101)
    for batch in parts.accumulator.expired_batches(1_000):
        batch.fail(lambda _: ProducerError("expired"))
        parts.accumulator.deallocate(batch)
    parts.ready(1_000)
    for _ in range(60):
        parts.append(UNKNOWN_PARTITION, now_ms=1_000)
    created = parts.batches.partitions
    assert set(created[5:]) == {0, 1, 2, 3}
