"""Our own producer, consumer and admin client against real Kafka: every codec and every kind of acks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.logger import globalLogPublisher

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
WAIT_S = 60


@pytest.fixture(scope="module", params=RELEASES)
def one_broker(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    with real_kafka(request.param) as cluster:
        yield cluster


def create(bootstrap_servers: str, topic: str, replication_factor: int) -> None:
    """Create a topic that is ready: metadata lists a leader before it accepts writes, which acks=0 would not notice."""
    with Admin(bootstrap_servers=bootstrap_servers) as admin:
        admin.create_topic(topic, partitions=PARTITIONS, replication_factor=replication_factor)
    with Consumer(bootstrap_servers=bootstrap_servers) as consumer:
        consumer.end_offsets([TopicPartition(topic, partition) for partition in range(PARTITIONS)])


def read_all(bootstrap_servers: str, topic: str, count: int) -> list[ConsumerRecord]:
    """Read until `count` records have come (those with acks=0 may be in flight), and any further ones."""
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


def test_clients_of_a_cluster_without_a_receiver_push_no_metrics(one_broker: RealKafka) -> None:
    create(one_broker.bootstrap_servers, "quiet", 1)
    logged: list[str] = []

    def observe(event: dict[str, Any]) -> None:
        logged.append(event["log_namespace"])

    globalLogPublisher.addObserver(observe)
    try:
        with Producer(bootstrap_servers=one_broker.bootstrap_servers) as producer:
            producer.send("quiet", b"x").result(WAIT_S)
            assert producer.client_instance_id(0.2) is None
    finally:
        globalLogPublisher.removeObserver(observe)
    assert not [namespace for namespace in logged if "telemetry" in namespace]
