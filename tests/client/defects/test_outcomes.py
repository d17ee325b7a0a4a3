"""Defects that give a record no outcome, a wrong one, or two."""

from __future__ import annotations

from typing import Any

import pytest

from tests.client.defects.defect_room import METADATA_OF_ORDERS, Room, outcome


@pytest.mark.parametrize(("defects", "outcomes"), [((), [1, 2]), (("drops-records-of-unknown-topics",), [None, 1])])
def test_records_of_a_topic_that_was_unknown_have_no_outcome(
    defects: tuple[str, ...], outcomes: list[int | None]
) -> None:
    room = Room()
    producer = room.warm_producer(*defects, metadata_max_age_ms=500, linger_ms=2_000)
    sent = [producer.send("orders", b"1", partition=0)]
    room.forget_topic()
    room.run(5_000)
    sent.append(producer.send("orders", b"2", partition=0))
    room.run(200_000)
    assert [outcome(one) for one in sent] == outcomes


@pytest.mark.parametrize(("defects", "early"), [((), None), (("unknown-topic-is-final",), "BrokerError")])
def test_a_topic_that_was_unknown_fails_records(defects: tuple[str, ...], early: str | None) -> None:
    room = Room()
    producer = room.warm_producer(*defects, metadata_max_age_ms=500, linger_ms=2_000)
    sent = producer.send("orders", b"1", partition=0)
    room.forget_topic()
    room.run(1_000)
    assert outcome(sent) == early
    room.run(5_000)
    assert outcome(sent) == (early or 1)


@pytest.mark.parametrize(("defects", "stored"), [((), [b"1"]), (("topic-without-partitions-succeeds",), [])])
def test_a_topic_without_partitions_makes_records_succeed(defects: tuple[str, ...], stored: list[bytes]) -> None:
    room = Room()
    producer = room.warm_producer(*defects, metadata_max_age_ms=500, linger_ms=2_000)
    sent = producer.send("orders", b"1", partition=0)
    room.rule("empty", select=METADATA_OF_ORDERS, times=2, act={"edit": [{"set": "topics[0].partitions", "to": []}]})
    room.run(5_000)
    assert isinstance(outcome(sent), int)
    assert room.values() == stored


@pytest.mark.parametrize(("defects", "expected"), [((), "ProducerClosed"), (("close-forgets-buffer",), None)])
def test_buffered_records_of_a_closed_producer(defects: tuple[str, ...], expected: str | None) -> None:
    room = Room()
    producer = room.warm_producer(*defects, linger_ms=1_000)
    sent = producer.send("orders", b"1", partition=0)
    room.world.run_until(producer.close(0))
    assert outcome(sent) == expected
    assert room.values() == []


@pytest.mark.parametrize(("defects", "after"), [((), "BatchExpired"), (("missing-partition-hangs",), None)])
def test_a_partition_that_the_response_lacks(defects: tuple[str, ...], after: str | None) -> None:
    room = Room()
    producer = room.warm_producer(*defects, delivery_timeout_ms=40_000)
    change = {"set": "responses[0].partition_responses", "to": []}
    room.rule("lacks", select={"api": "Produce"}, phase="before_response", times=1, act={"edit": [change]})
    sent = producer.send("orders", b"1", partition=0)
    room.run(100_000)
    assert outcome(sent) == after


@pytest.mark.parametrize(("defects", "calls"), [((), 1), (("completes-a-batch-twice",), 2)])
def test_a_partition_that_the_response_has_twice(defects: tuple[str, ...], calls: int) -> None:
    room = Room()
    producer = room.warm_producer(*defects)
    change = {"duplicate": "responses[0].partition_responses[0]"}
    room.rule("doubled", select={"api": "Produce"}, phase="before_response", times=1, act={"edit": [change]})
    called: list[Any] = []
    producer.send("orders", b"1", partition=0, on_delivery=lambda *outcome: called.append(outcome))
    room.run(1_000)
    assert len(called) == calls


def test_the_partitions_after_one_that_the_response_has_twice_have_their_outcomes() -> None:
    room = Room(topics=("orders:2:1",))
    producer = room.warm_producer(linger_ms=5)
    change = {"duplicate": "responses[0].partition_responses[0]"}
    room.rule("doubled", select={"api": "Produce"}, phase="before_response", times=1, act={"edit": [change]})
    sent = [producer.send("orders", b"1", partition=partition) for partition in (0, 1)]
    room.run(1_000)
    assert all(isinstance(outcome(one), int) for one in sent)
