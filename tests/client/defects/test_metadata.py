"""Defects of the client's view of the cluster."""

from __future__ import annotations

import pytest

from tests.client.defects.defect_room import METADATA_OF_ORDERS, Room, outcome


@pytest.mark.parametrize(("defects", "is_whole"), [((), False), (("requests-metadata-of-all-topics",), True)])
def test_each_new_topic_requests_all(defects: tuple[str, ...], *, is_whole: bool) -> None:
    topics = [f"topic-{number}" for number in range(30)]
    room = Room(topics=[f"{topic}:1:1" for topic in topics])
    producer = room.producer(*defects)
    for topic in topics:
        room.warm(producer, topic)
    assert (max(one.size for one in room.requests("Metadata")) > 200) is is_whole


@pytest.mark.parametrize(("defects", "goes_back"), [((), False), (("no-leader-epoch-check",), True)])
def test_an_older_leader_is_believed(defects: tuple[str, ...], *, goes_back: bool) -> None:
    room = Room(brokers=2, topics=["orders:1:2"])
    producer = room.warm_producer(*defects, metadata_max_age_ms=500)
    old = room.cluster.leader_of("orders", 0)
    assert old is not None
    room.rule("move", act={"move_leader": {"partition": "orders-0"}})
    room.run(2_000)
    partition = "topics[0].partitions[0]"
    changes = [{"set": f"{partition}.leader_id", "to": old}, {"set": f"{partition}.leader_epoch", "to": 0}]
    room.rule("stale", select=METADATA_OF_ORDERS, act={"edit": changes})
    room.run(2_000)
    before = len(room.requests("Produce"))
    producer.send("orders", b"1", partition=0)
    room.run(2_000)
    to_old = [one for one in room.requests("Produce")[before:] if one.broker_id == old]
    assert bool(to_old) is goes_back


@pytest.mark.parametrize(("defects", "is_loop"), [((), False), (("refreshes-until-the-epoch-changes",), True)])
def test_a_leader_that_refuses_once_causes_a_loop(defects: tuple[str, ...], *, is_loop: bool) -> None:
    room = Room()
    producer = room.warm_producer(*defects)
    room.run(2_000)
    before = len(room.requests("Metadata"))
    room.rule(
        "once", select={"api": "Produce"}, phase="before_append", times=1, act={"error": "NOT_LEADER_OR_FOLLOWER"}
    )
    producer.send("orders", b"1", partition=0)
    room.run(20_000)
    assert room.values() == [b"1"]
    assert (len(room.requests("Metadata")) - before > 100) is is_loop


@pytest.mark.parametrize(("defects", "sent"), [((), 0), (("metadata-stay-on-one-node",), "MetadataTimeout")])
def test_metadata_are_requested_from_a_dead_broker(defects: tuple[str, ...], sent: int | str) -> None:
    room = Room(brokers=3, topics=["orders:3:1", "bills:3:1"])
    producer = room.warm_producer(*defects, metadata_max_age_ms=1_000)
    room.run(3_000)
    gone = room.requests("Metadata")[-1].broker_id
    room.world.network.isolate(f"b{gone}")
    room.run(5_000)
    led = next(one for one in range(3) if room.cluster.leader_of("bills", one) not in (gone, None))
    record = producer.send("bills", b"1", partition=led)
    room.run(100_000)
    assert outcome(record) == sent


@pytest.mark.parametrize(("defects", "early"), [((), 0), (("first-partition-error-waits-for-max-age",), None)])
def test_a_partition_without_leader_in_the_first_metadata(defects: tuple[str, ...], early: int | None) -> None:
    room = Room()
    producer = room.producer(*defects)
    partition = "topics[0].partitions[0]"
    changes = [{"set": f"{partition}.error_code", "to": 5}, {"set": f"{partition}.leader_id", "to": -1}]
    room.rule("young", select=METADATA_OF_ORDERS, times=1, act={"edit": changes})
    record = producer.send("orders", b"1", partition=0)
    room.run(60_000)
    assert outcome(record) == early


@pytest.mark.parametrize(("defects", "sent"), [((), 1), (("one-connection-per-address",), "BatchExpired")])
def test_two_brokers_had_one_address(defects: tuple[str, ...], sent: int | str) -> None:
    room = Room(brokers=2, topics=["orders:1:2"])
    leader = room.cluster.leader_of("orders", 0)
    assert leader is not None
    changes = [{"set": f"brokers[{place}].host", "to": f"b{leader}"} for place in (0, 1)]
    room.rule("early", select={"api": "Metadata"}, times=1, act={"edit": changes})
    options = {"enable_idempotence": False, "metadata_max_age_ms": 500, "delivery_timeout_ms": 40_000}
    producer = room.warm_producer(*defects, **options, bootstrap_servers=f"b{leader}:32768")
    room.rule("move", act={"move_leader": {"partition": "orders-0"}})
    room.run(2_000)
    record = producer.send("orders", b"1", partition=0)
    room.run(60_000)
    assert outcome(record) == sent
