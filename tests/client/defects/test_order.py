"""Defects that store a producer's records in another order than they were sent."""

from __future__ import annotations

import pytest

from tests.client.defects.defect_room import Room

IN_FLIGHT_1 = {"max_in_flight_requests_per_connection": 1, "enable_idempotence": False, "request_timeout_ms": 4_000}
ONE_TO_THREE = [b"%d" % number * 100 for number in (1, 2, 3)]
BEHIND = [*ONE_TO_THREE[1:], ONE_TO_THREE[0]]


@pytest.mark.parametrize(("defects", "stored"), [((), [b"1", b"2"]), (("no-mute",), [b"2", b"1"])])
def test_a_batch_overtakes_one_that_waits_for_the_old_leader(defects: tuple[str, ...], stored: list[bytes]) -> None:
    room = Room(brokers=2, topics=["orders:1:2"])
    producer = room.warm_producer(*defects, **IN_FLIGHT_1, metadata_max_age_ms=500)
    leader = room.cluster.leader_of("orders", 0)
    room.rule("stall", select={"api": "Produce", "broker": leader}, phase="before_parse", act="hold")
    producer.send("orders", b"1", partition=0)
    room.run(10)
    room.cluster.isolate(leader)
    room.run(3_000)
    assert room.cluster.leader_of("orders", 0) != leader
    producer.send("orders", b"2", partition=0)
    room.run(10_000)
    assert room.values() == stored


@pytest.mark.parametrize(
    ("defects", "stored"),
    [((), ONE_TO_THREE), (("retry-behind-newer",), BEHIND), (("unmutes-before-retry",), BEHIND)],
)
def test_newer_batches_overtake_a_batch_that_is_retried(defects: tuple[str, ...], stored: list[bytes]) -> None:
    room = Room()
    producer = room.warm_producer(*defects, **IN_FLIGHT_1, batch_size=0)
    room.rule("refuse", select={"api": "Produce", "topic": "orders"}, times=1, act={"error": "NOT_ENOUGH_REPLICAS"})
    for value in ONE_TO_THREE:
        producer.send("orders", value, partition=0)
    room.run(2_000)
    assert room.values() == stored
