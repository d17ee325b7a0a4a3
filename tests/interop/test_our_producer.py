"""Our own producer, consumer and admin client against real Kafka: every codec and acks, and brokers that are killed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from broker_client import Producer, TopicPartition
from broker_client.admin import Admin
from broker_client.consumer import Consumer
from tests.interop.kafka_release import RELEASES
from tests.interop.real_kafka import real_kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_client.consumer import ConsumerRecord
    from tests.interop.real_kafka import RealKafka

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
GUARANTEES: dict[str, dict[str, Any]] = {
    "acks=0": {"acks": "0"},
    "acks=1": {"acks": "1"},
    "acks=all": {"acks": "all", "enable_idempotence": False},
    "idempotent": {"acks": "all"},
    "one in flight": {"max_in_flight_requests_per_connection": 1, "enable_idempotence": False},
}
PARTITIONS = 3
RESTARTS = 4


@pytest.fixture(scope="module", params=RELEASES)
def one_broker(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    with real_kafka(request.param) as cluster:
        yield cluster


@pytest.fixture(params=RELEASES)
def three_brokers(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    with real_kafka(request.param, brokers=3, settings={"min.insync.replicas": "2"}) as cluster:
        yield cluster


def create(bootstrap_servers: str, topic: str, replication_factor: int) -> None:
    """Create a topic that is ready: a leader is told before it can be written to, which acks=0 would not notice."""
    with Admin(bootstrap_servers=bootstrap_servers) as admin:
        admin.create_topic(topic, partitions=PARTITIONS, replication_factor=replication_factor)
    with Consumer(bootstrap_servers=bootstrap_servers) as consumer:
        consumer.end_offsets([TopicPartition(topic, partition) for partition in range(PARTITIONS)])


def read_all(bootstrap_servers: str, topic: str, count: int) -> list[ConsumerRecord]:
    """Read until `count` records have come (what acks=0 sent may be on its way), and whatever else is there."""
    keys = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    with Consumer(bootstrap_servers=bootstrap_servers) as consumer:
        consumer.assign(keys)
        records: list[ConsumerRecord] = []
        while got := consumer.poll(5.0 if len(records) < count else 0.5):
            records += got
        return records


@pytest.mark.parametrize("guarantee", GUARANTEES)
@pytest.mark.parametrize("codec", CODECS)
def test_what_is_produced_is_read_back(one_broker: RealKafka, codec: str, guarantee: str) -> None:
    servers = one_broker.bootstrap_servers
    topic = f"{codec}-{guarantee}".replace("=", "-").replace(" ", "-")
    create(servers, topic, 1)
    values = [b"value %d " % number * (number % 20) for number in range(500)]
    with Producer(bootstrap_servers=servers, compression_type=codec, **GUARANTEES[guarantee]) as producer:
        futures = [
            producer.send(topic, value, key=b"key %d" % (number % 50), headers={"h": b"x", "n": None})
            for number, value in enumerate(values)
        ]
        producer.flush()
        places = [future.result(0) for future in futures]
    stored = {(one.partition, one.offset): one for one in read_all(servers, topic, len(values))}
    if guarantee == "acks=0":
        assert sorted(one.value or b"" for one in stored.values()) == sorted(values)
        return
    for number, place in enumerate(places):
        record = stored.pop((place.partition, place.offset))
        assert (record.key, record.value) == (b"key %d" % (number % 50), values[number])
        assert record.headers == (("h", b"x"), ("n", None))
        assert record.timestamp_ms == place.timestamp_ms
    assert stored == {}


def test_nothing_is_lost_doubled_or_moved_while_brokers_are_killed(three_brokers: RealKafka) -> None:
    servers = three_brokers.bootstrap_servers
    create(servers, "crashes", 3)
    done = threading.Event()
    futures: list[Any] = []
    with Producer(bootstrap_servers=servers, linger_ms=1, batch_size=2_000) as producer:

        def load() -> None:
            number = 0
            while not done.wait(0.001):
                for _ in range(5):
                    futures.append(producer.send("crashes", b"%09d" % number, partition=number % PARTITIONS))
                    number += 1

        sender = threading.Thread(target=load)
        sender.start()
        try:
            for restart in range(RESTARTS):
                broker = restart % 3 + 1
                done.wait(2)
                three_brokers.kill(broker)
                done.wait(3)
                three_brokers.restart(broker)
                done.wait(6)
        finally:
            done.set()
            sender.join()
        producer.flush(120)
    assert [future.exception(0) for future in futures if future.exception(0) is not None] == []
    records = read_all(servers, "crashes", len(futures))
    for partition in range(PARTITIONS):
        stored = [one.value for one in records if one.partition == partition]
        assert stored == [b"%09d" % number for number in range(partition, len(futures), PARTITIONS)]
