"""A consumer with a rack reads from the replica there (KIP-392): librdkafka on our brokers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from broker_sim.control.events import RequestReceived
from broker_sim.threaded_cluster import ThreadedCluster
from tests.interop.kafka_release import RELEASES

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG = {
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "1:broker.rack": "a",
    "2:broker.rack": "b",
    "3:broker.rack": "c",
}
RECORDS = 100
SECONDS_MAX = 60


@pytest.fixture(params=RELEASES)
def cluster(request: pytest.FixtureRequest) -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=3, release=request.param, config=CONFIG, topics=["t:1:3"]) as cluster:
        yield cluster


def _produce(cluster: ThreadedCluster, first: int) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all", "log_level": 0})
    for number in range(first, first + RECORDS):
        producer.produce("t", b"%d" % number)
    assert producer.flush(SECONDS_MAX) == 0


def _consume(consumer: Consumer, count: int) -> list[bytes]:
    found: list[Message] = []
    deadline = time.monotonic() + SECONDS_MAX
    while len(found) < count and time.monotonic() < deadline:
        found += [message for message in consumer.consume(count, 0.2) if message.error() is None]
    return [message.value() or b"" for message in found]


def _fetched_from(cluster: ThreadedCluster, client_id: str) -> list[int]:
    received = [event for event in cluster.events() if isinstance(event, RequestReceived)]
    return [event.broker_id for event in received if event.api == "Fetch" and event.client_id == client_id]


@pytest.mark.parametrize(("rack", "replica"), [("a", 1), ("b", 2), ("c", 3), ("d", 1), ("", 1)])
def test_a_consumer_reads_in_its_own_rack(cluster: ThreadedCluster, rack: str, replica: int) -> None:
    _produce(cluster, 0)
    client_id = f"in-{rack}"
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "g",
            "client.id": client_id,
            "client.rack": rack,
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition("t", 0, 0)])
    try:
        assert _consume(consumer, RECORDS) == [b"%d" % number for number in range(RECORDS)]
        _produce(cluster, RECORDS)
        assert _consume(consumer, RECORDS) == [b"%d" % number for number in range(RECORDS, 2 * RECORDS)]
    finally:
        consumer.close()
    brokers = _fetched_from(cluster, client_id)
    assert brokers[-1] == replica
    assert brokers[0] == 1, "the first fetch goes to the leader"
    assert set(brokers) == {1, replica}


def test_a_consumer_goes_back_to_the_leader_when_its_replica_dies(cluster: ThreadedCluster) -> None:
    _produce(cluster, 0)
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "g",
            "client.id": "left-alone",
            "client.rack": "b",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition("t", 0, 0)])
    try:
        assert len(_consume(consumer, RECORDS)) == RECORDS
        assert _fetched_from(cluster, "left-alone")[-1] == 2
        cluster.kill(2)
        _produce(cluster, RECORDS)
        assert _consume(consumer, RECORDS) == [b"%d" % number for number in range(RECORDS, 2 * RECORDS)]
    finally:
        consumer.close()
    assert _fetched_from(cluster, "left-alone")[-1] == 1
