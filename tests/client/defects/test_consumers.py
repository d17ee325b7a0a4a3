"""Defects of consumers: positions, isolation and membership."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred

from broker_client.errors import ProducerError
from broker_client.records import TopicPartition
from tests.client.defects.defect_room import Room, result_of

if TYPE_CHECKING:
    from broker_client.core.consumer.consumer_core import ConsumerCore

ORDERS = TopicPartition("orders", 0)
GROUP = {"group_id": "g", "session_timeout_ms": 6_000, "heartbeat_interval_ms": 1_000, "request_timeout_ms": 5_000}


def values(*numbers: int) -> list[bytes]:
    return [b"%d" % number for number in numbers]


class Reader:
    """A consumer that polls, every `every_ms`, until it is stopped."""

    def __init__(self, room: Room, consumer: ConsumerCore, *topics: str, every_ms: int = 20) -> None:
        self.values: list[bytes] = []
        self.is_running = True
        self._room = room
        self._consumer = consumer
        self._every_ms = every_ms
        Deferred.fromCoroutine(self._run(topics)).addErrback(lambda failure: failure.trap(ProducerError))

    async def _run(self, topics: tuple[str, ...]) -> None:
        if topics:
            await self._consumer.subscribe(topics)
        while self.is_running:
            self.values += [record.value for record in await self._consumer.poll(100)]
            pause: Deferred[None] = Deferred()
            self._room.world.reactor.callLater(self._every_ms / 1000, pause.callback, None)
            await pause


def polled(room: Room, consumer: ConsumerCore, ms: float = 2_000) -> list[bytes]:
    """The values of polls for some time."""
    reader = Reader(room, consumer)
    room.run(ms)
    reader.is_running = False
    return reader.values


def produce(room: Room, *numbers: int, partition: int = 0, **options: Any) -> None:
    producer = room.producer(host="writer", **options)
    for number in numbers:
        producer.send("orders", b"%d" % number, partition=partition)
    room.run(2_000)


@pytest.mark.parametrize(
    ("defects", "read_values"), [((), values(3, 4)), (("reads-from-batch-start",), values(0, 1, 2, 3, 4))]
)
def test_records_before_the_position_are_delivered(defects: tuple[str, ...], read_values: list[bytes]) -> None:
    room = Room()
    produce(room, *range(5), linger_ms=50)
    consumer = room.consumer(*defects)
    consumer.assign([ORDERS])
    consumer.seek(ORDERS, 3)
    assert polled(room, consumer) == read_values


@pytest.mark.parametrize(("defects", "read_values"), [((), []), (("aborted-transactions-in-order",), values(1))])
def test_aborted_records_of_a_list_out_of_order(defects: tuple[str, ...], read_values: list[bytes]) -> None:
    room = Room()
    for number in (1, 2):
        producer = room.producer(host=f"writer-{number}", transactional_id=f"t{number}")
        assert result_of(room, producer.transactional.init_transactions()) == "ok"
        producer.transactional.begin_transaction()
        producer.send("orders", b"%d" % number, partition=0)
        room.run(500)
        assert result_of(room, producer.transactional.abort_transaction()) == "ok"
    room.run(500)
    aborted = "responses[0].partitions[0].aborted_transactions"
    swapped = [
        {"set": f"{aborted}[0].producer_id", "to": 1},
        {"set": f"{aborted}[0].first_offset", "to": 2},
        {"set": f"{aborted}[1].producer_id", "to": 0},
        {"set": f"{aborted}[1].first_offset", "to": 0},
    ]
    room.rule("swap", select={"api": "Fetch"}, phase="before_response", times=1, act={"edit": swapped})
    consumer = room.consumer(*defects, isolation_level="read_committed")
    consumer.assign([ORDERS])
    assert polled(room, consumer) == read_values


@pytest.mark.parametrize(("defects", "read_values"), [((), values(0, 1, 2)), (("epoch-error-resets-position",), [])])
def test_an_epoch_error_skips_records(defects: tuple[str, ...], read_values: list[bytes]) -> None:
    room = Room()
    produce(room, 0, 1, 2)
    room.rule("fenced", select={"api": "Fetch", "partition": 0}, times=1, act={"error": "UNKNOWN_LEADER_EPOCH"})
    consumer = room.consumer(*defects, auto_offset_reset="latest")
    consumer.assign([ORDERS])
    consumer.seek(ORDERS, 0)
    assert polled(room, consumer) == read_values


@pytest.mark.parametrize(("defects", "is_doubled"), [((), False), (("validation-restores-old-position",), True)])
def test_records_are_delivered_again_after_a_validation(defects: tuple[str, ...], *, is_doubled: bool) -> None:
    room = Room(brokers=2, topics=["orders:1:2"])
    produce(room, *range(100))
    consumer = room.consumer(*defects, group_id="g", max_poll_records=1, metadata_max_age_ms=500)
    consumer.assign([ORDERS])
    reader = Reader(room, consumer)
    room.run(500)
    room.rule("slow", select={"api": "OffsetForLeaderEpoch"}, phase="before_parse", act={"delay_ms": 300})
    room.rule("move", act={"move_leader": {"partition": "orders-0"}})
    room.run(10_000)
    counts = Counter(reader.values)
    assert len(counts) == 100
    assert (max(counts.values()) > 1) is is_doubled


def test_a_partition_that_is_assigned_again_during_its_validation_is_read_to_its_end() -> None:
    room = Room(brokers=2, topics=["orders:1:2"])
    produce(room, *range(100))
    consumer = room.consumer(
        "validation-restores-old-position", group_id="g", max_poll_records=1, auto_commit_interval_ms=100
    )
    consumer.assign([ORDERS])
    reader = Reader(room, consumer)
    room.run(500)
    room.rule("slow", select={"api": "OffsetForLeaderEpoch"}, phase="before_parse", act={"delay_ms": 300})
    room.rule("move", act={"move_leader": {"partition": "orders-0"}})
    for _ in range(20):
        room.run(100)
        consumer.assign([])
        consumer.assign([ORDERS])
    room.run(10_000)
    assert len(set(reader.values)) == 100


@pytest.mark.parametrize(("defects", "is_done"), [((), True), (("close-ignores-its-timeout",), False)])
@pytest.mark.parametrize("protocol", [{}, {"group_protocol": "consumer"}])
def test_a_close_with_timeout_0(defects: tuple[str, ...], protocol: dict[str, str], *, is_done: bool) -> None:
    room = Room()
    produce(room, 0, 1, 2)
    options = {"group_id": "g", **protocol} if protocol else GROUP
    consumer = room.consumer(*defects, **options)
    Reader(room, consumer, "orders")
    room.run(5_000)
    room.world.network.isolate("b1")
    closed = Deferred.fromCoroutine(consumer.close(0))
    room.run(600_000)
    assert closed.called is is_done


@pytest.mark.parametrize(("defects", "is_doubled"), [((), False), (("reads-on-before-revocation",), True)])
def test_records_are_read_after_the_last_commit(defects: tuple[str, ...], *, is_doubled: bool) -> None:
    room = Room(topics=["orders:2:1"])
    for partition in (0, 1):
        produce(room, *range(1_000 * partition, 1_000 * partition + 300), partition=partition)
    options = {**GROUP, "max_poll_records": 1, "partition_assignment_strategy": "range"}
    first = Reader(room, room.consumer(*defects, host="first", **options), "orders")
    room.run(6_000)
    room.rule("slow", select={"api": "OffsetCommit"}, phase="before_response", act={"delay_ms": 800})
    second = Reader(room, room.consumer(host="second", **options), "orders")
    room.run(60_000)
    counts = Counter(first.values + second.values)
    assert len(counts) == 600
    assert (max(counts.values()) > 1) is is_doubled


@pytest.mark.parametrize(("defects", "is_doubled"), [((), False), (("never-rejoins",), True)])
def test_a_removed_member_reads_on(defects: tuple[str, ...], *, is_doubled: bool) -> None:
    room = Room(topics=["orders:1:1"])
    first = Reader(room, room.consumer(*defects, host="first", **GROUP), "orders")
    room.run(5_000)
    room.world.network.isolate("first")
    room.run(10_000)
    second = Reader(room, room.consumer(host="second", **GROUP), "orders")
    room.run(10_000)
    room.world.network.rejoin("first")
    room.run(20_000)
    produce(room, *range(10))
    room.run(10_000)
    counts = Counter(first.values + second.values)
    assert len(counts) == 10
    assert (max(counts.values()) > 1) is is_doubled


@pytest.mark.parametrize(("defects", "again"), [((), values(0, 1, 2)), (("commits-the-latest-poll",), [])])
def test_a_crash_during_the_work_on_a_poll(defects: tuple[str, ...], again: list[bytes]) -> None:
    room = Room()
    produce(room, 0, 1, 2)
    options = {**GROUP, "auto_commit_interval_ms": 1_000}
    reader = Reader(room, room.consumer(*defects, host="first", **options), "orders")
    room.world.run_until(lambda: reader.values, deadline_ms=30_000)
    reader.is_running = False
    room.run(1_500)
    assert reader.values == values(0, 1, 2)
    room.world.network.isolate("first")
    room.run(10_000)
    after = Reader(room, room.consumer(host="second", **options), "orders")
    room.run(10_000)
    assert after.values == again
