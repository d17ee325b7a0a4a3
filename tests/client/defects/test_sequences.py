"""Defects of idempotence: sequences and epochs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.control.events import BatchAppended
from tests.client.defects.defect_room import Room, outcome

if TYPE_CHECKING:
    from broker_client.core.producer.producer_core import ProducerCore

ALONE = {"batch_size": 0}
"""Each record of 100 bytes is a batch."""


def value(number: int) -> bytes:
    return b"%d" % number * 100


def send(producer: ProducerCore, *numbers: int, partition: int = 0) -> list[Any]:
    return [producer.send("orders", value(number), partition=partition) for number in numbers]


@pytest.mark.parametrize(("defects", "copies"), [((), 1), (("bump-rewrites-all-partitions",), 2)])
def test_a_sequence_error_on_one_partition_doubles_a_batch_of_another(defects: tuple[str, ...], copies: int) -> None:
    room = Room(brokers=2, topics=["orders:2:1"])
    producer = room.producer(*defects, request_timeout_ms=3_000)
    for partition in (0, 1):
        room.warm(producer, partition=partition)
    room.rule("lost", select={"api": "Produce", "partition": 1}, phase="after_append", times=1, act="drop_response")
    send(producer, 1, partition=1)
    room.run(10)
    room.rule("gap", select={"api": "Produce", "partition": 0}, times=1, act={"error": "OUT_OF_ORDER_SEQUENCE_NUMBER"})
    send(producer, 2, partition=0)
    room.run(10_000)
    assert room.values(partition=0) == [value(2)]
    assert room.values(partition=1) == [value(1)] * copies


@pytest.mark.parametrize(
    ("defects", "offset", "stored"), [((), 2, True), (("forgets-sequences-of-unknown-topics",), 0, False)]
)
def test_a_topic_that_was_unknown_begins_at_sequence_0_again(
    defects: tuple[str, ...], offset: int, *, stored: bool
) -> None:
    room = Room()
    producer = room.warm_producer(*defects, metadata_max_age_ms=500)
    first = send(producer, 1)[0]
    room.run(100)
    room.forget_topic()
    room.run(5_000)
    sent = send(producer, 2)[0]
    room.run(1_000)
    assert (outcome(first), outcome(sent)) == (1, offset)
    assert (value(2) in room.values()) is stored


@pytest.mark.parametrize(
    ("defects", "second", "stored"),
    [((), 2, [value(1), value(2)]), (("reuses-sequence-of-failed-batch",), 1, [value(1)])],
)
def test_the_sequence_of_a_stored_batch_is_reused(defects: tuple[str, ...], second: int, stored: list[bytes]) -> None:
    room = Room()
    producer = room.warm_producer(*defects, delivery_timeout_ms=2_000, request_timeout_ms=1_000)
    select = {"api": "Produce", "topic": "orders"}
    room.rule("late", select=select, phase="after_append", times=50, act={"error": "REQUEST_TIMED_OUT"})
    first = send(producer, 1)[0]
    room.run(3_000)
    room.cluster.faults.remove("late")
    sent = send(producer, 2)[0]
    room.run(3_000)
    assert (outcome(first), outcome(sent)) == ("BatchExpired", second)
    assert room.values() == stored


@pytest.mark.parametrize(
    ("defects", "outcomes"),
    [((), [1, 2, 3, 4, 5, 6]), (("sequence-error-is-fatal",), [*["BrokerError"] * 5, "BrokerError"])],
)
def test_a_gap_behind_a_refused_batch_ends_the_producer(defects: tuple[str, ...], outcomes: list[int | str]) -> None:
    room = Room()
    producer = room.warm_producer(*defects, **ALONE)
    room.rule("refuse", select={"api": "Produce", "topic": "orders"}, times=1, act={"error": "NOT_ENOUGH_REPLICAS"})
    sent = send(producer, 1, 2, 3, 4, 5)
    room.run(3_000)
    sent += send(producer, 6)
    room.run(3_000)
    assert [outcome(one) for one in sent] == outcomes


def sequences(room: Room) -> list[int]:
    return [one.base_sequence for one in room.events(BatchAppended) if one.topic == "orders"]


PRESET = "sequence-starts-near-wrap"


@pytest.mark.parametrize(
    ("defects", "appended", "last"),
    [
        ((PRESET,), [2**31 - 3, 2**31 - 2, 2**31 - 1, 0, 1], 4),
        ((PRESET, "sequence-wraps-to-negative"), [2**31 - 3, 2**31 - 2, 2**31 - 1], "BrokerError"),
    ],
)
def test_the_sequence_after_the_largest_one(defects: tuple[str, ...], appended: list[int], last: int | str) -> None:
    room = Room()
    producer = room.producer(*defects)
    for number in range(5):
        sent = send(producer, number)[0]
        room.run(1_000)
    assert sequences(room) == appended
    assert outcome(sent) == last


@pytest.mark.parametrize(
    ("defects", "stored"), [((), [value(1), value(2)]), (("retry-splits-batch",), [value(1), value(2)] * 2)]
)
def test_a_retry_has_fewer_records_than_the_stored_batch(defects: tuple[str, ...], stored: list[bytes]) -> None:
    room = Room()
    producer = room.warm_producer(*defects, linger_ms=10)
    select = {"api": "Produce", "topic": "orders"}
    room.rule("late", select=select, phase="after_append", times=1, act={"error": "REQUEST_TIMED_OUT"})
    send(producer, 1, 2)
    room.run(5_000)
    assert room.values() == stored


@pytest.mark.parametrize(("defects", "outcomes"), [((), [0, 1]), (("in-flight-by-sequence-alone",), [0, None])])
def test_two_batches_in_flight_with_one_sequence(defects: tuple[str, ...], outcomes: list[int | None]) -> None:
    room = Room(brokers=2, topics=["orders:2:1"])
    producer = room.warm_producer(*defects, delivery_timeout_ms=40_000)
    room.rule("slow", select={"api": "Produce", "partition": 1}, phase="after_append", times=1, act={"delay_ms": 2_000})
    sent = send(producer, 1, partition=1)
    room.run(500)
    room.rule("gap", select={"api": "Produce", "partition": 0}, times=1, act={"error": "OUT_OF_ORDER_SEQUENCE_NUMBER"})
    send(producer, 2, partition=0)
    room.run(500)
    sent += send(producer, 3, partition=1)
    room.run(100_000)
    assert room.values(partition=1) == [value(1), value(3)]
    assert [outcome(one) for one in sent] == outcomes


@pytest.mark.parametrize(("defects", "second"), [((), 2), (("stale-epoch-in-request",), "BrokerError")])
def test_a_request_is_built_with_the_epoch_before_a_bump(defects: tuple[str, ...], second: int | str) -> None:
    room = Room()
    producer = room.warm_producer(*defects)
    room.rule(
        "gap", select={"api": "Produce", "topic": "orders"}, times=1, act={"error": "OUT_OF_ORDER_SEQUENCE_NUMBER"}
    )
    first = send(producer, 1)[0]
    room.run(1_000)
    sent = send(producer, 2)[0]
    room.run(1_000)
    assert (outcome(first), outcome(sent)) == (1, second)


@pytest.mark.parametrize(("defects", "copies"), [((), 1), (("idempotence-not-applied",), 2)])
def test_a_batch_without_producer_id_is_stored_twice(defects: tuple[str, ...], copies: int) -> None:
    room = Room()
    producer = room.warm_producer(*defects, request_timeout_ms=1_000)
    room.rule("lost", select={"api": "Produce"}, phase="before_response", times=1, act="disconnect")
    send(producer, 1)
    room.run(5_000)
    assert producer.config.idempotent
    assert room.values() == [value(1)] * copies
