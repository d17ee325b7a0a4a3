"""Defects of buffers, threads and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from twisted.internet.defer import ensureDeferred

from broker_sim.control.events import ConnectionOpened
from tests.client.defects.defect_room import Room, outcome

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

BATCH = 1_000
VALUE = b"v" * 900
"""Fills a batch of batch.size=1000."""


@pytest.mark.parametrize(("defects", "is_skewed"), [((), False), (("sticky-partition-per-batch",), True)])
def test_keyless_records_collect_at_a_slow_broker(defects: tuple[str, ...], *, is_skewed: bool) -> None:
    room = Room(brokers=3, topics=["orders:3:1"])
    producer = room.producer(*defects, max_in_flight_requests_per_connection=1)
    for partition in range(3):
        room.warm(producer, partition=partition)
    slow = room.cluster.leader_of("orders", 0)
    room.rule("slow", select={"api": "Produce", "broker": slow}, phase="before_append", act={"delay_ms": 50})
    for _ in range(3_000):
        producer.send("orders", b"v" * 50)
        room.run(1)
    room.run(3_000)
    counts = [len(room.values(partition=partition)) for partition in range(3)]
    assert sum(counts) == 3_000
    assert (counts[0] > 1_500) is is_skewed


@pytest.mark.parametrize(("defects", "grows"), [((), False), (("unbounded-buffer",), True)])
def test_memory_grows_while_brokers_do_not_respond(defects: tuple[str, ...], *, grows: bool) -> None:
    room = Room()
    producer = room.warm_producer(*defects, batch_size=BATCH, buffer_memory=10 * BATCH, max_block_ms=1_000)
    room.rule("stall", select={"api": "Produce"}, phase="before_parse", act="hold")
    sent = [producer.send("orders", VALUE, partition=0) for _ in range(50)]
    room.run(2_000)
    assert (producer.pool.available_bytes < 0) is grows
    assert [outcome(one) for one in sent].count("BufferExhausted") == (0 if grows else 40)


@pytest.mark.parametrize(("defects", "last"), [((), 3), (("abandoned-wait-keeps-memory",), "BufferExhausted")])
def test_a_send_that_gave_up_keeps_the_memory(defects: tuple[str, ...], last: int | str) -> None:
    room = Room()
    producer = room.warm_producer(*defects, batch_size=BATCH, buffer_memory=2 * BATCH, max_block_ms=500)
    room.rule("stall", select={"api": "Produce"}, phase="before_parse", act="hold")
    sent = [producer.send("orders", VALUE, partition=0) for _ in range(4)]
    room.run(1_000)
    assert [outcome(one) for one in sent] == [None, None, "BufferExhausted", "BufferExhausted"]
    room.release("stall")
    room.run(1_000)
    assert [outcome(one) for one in sent[:2]] == [1, 2]
    retried = producer.send("orders", VALUE, partition=0)
    room.run(2_000)
    assert outcome(retried) == last


@pytest.mark.parametrize(("defects", "is_above"), [((), False), (("split-frees-memory-twice",), True)])
def test_the_memory_of_a_split_batch_comes_back_twice(defects: tuple[str, ...], *, is_above: bool) -> None:
    room = Room(config={"message.max.bytes": "1500"})
    producer = room.warm_producer(
        *defects, linger_ms=100, delivery_timeout_ms=5_000, request_timeout_ms=1_000, buffer_memory=100_000
    )
    sent = [producer.send("orders", VALUE, partition=0) for _ in range(3)]
    room.run(10_000)
    assert [outcome(one) for one in sent] == [1, 2, 3]
    assert (producer.pool.available_bytes > producer.pool.memory_bytes) is is_above


@pytest.mark.parametrize(("defects", "later"), [((), 3), (("flush-in-callback-blocks",), None)])
def test_a_flush_in_a_callback(defects: tuple[str, ...], later: int | None) -> None:
    room = Room()
    producer = room.warm_producer(*defects, batch_size=0)
    flushes: list[Deferred[None]] = []
    producer.send(
        "orders", b"1" * 100, partition=0, on_delivery=lambda *_: flushes.append(ensureDeferred(producer.flush()))
    )
    producer.send("orders", b"2" * 100, partition=0)
    room.run(100)
    last = producer.send("orders", b"3", partition=0)
    room.run(300_000)
    assert [flush.called for flush in flushes] == [later is not None]
    assert outcome(last) == later


@pytest.mark.parametrize(("defects", "connections"), [((), 2), (("ignores-throttle-time",), 3)])
def test_a_client_sends_while_it_is_throttled(defects: tuple[str, ...], connections: int) -> None:
    room = Room()
    producer = room.warm_producer(*defects, request_timeout_ms=1_000, delivery_timeout_ms=60_000)
    room.rule("quota", act={"alter_quota": {"client_id": "app", "quotas": {"producer_byte_rate": 1_000}}})
    room.run(100)
    producer.send("orders", b"v" * 15_000, partition=0)
    room.run(100)
    producer.send("orders", b"w" * 100, partition=0)
    room.run(3_000)
    assert len(room.events(ConnectionOpened)) == connections


@pytest.mark.parametrize(("defects", "other"), [((), 1), (("writes-block-the-sender",), None)])
def test_a_broker_that_reads_nothing_stops_all(defects: tuple[str, ...], other: int | None) -> None:
    room = Room(brokers=2, topics=["orders:2:1"])
    producer = room.producer(*defects, max_request_size=2_000_000)
    for partition in (0, 1):
        room.warm(producer, partition=partition)
    leader = room.cluster.leader_of("orders", 0)
    room.world.network.link("app", f"b{leader}").hold()
    producer.send("orders", b"v" * 900_000, partition=0)
    room.run(100)
    sent = producer.send("orders", b"w", partition=1)
    room.run(10_000)
    assert outcome(sent) == other
