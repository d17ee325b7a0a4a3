"""Unmodified clients on the pipelined thread model: requests in flight together, responses in order."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaProducer

from broker_sim.threaded_cluster import ThreadedCluster

RECORDS = 2_000
SECONDS_MAX = 30
PIPELINED = {"thread.model": "pipelined", "persist.time.ms": "1", "num.io.threads": "2"}


def values_of(bootstrap_servers: str, topic: str, count: int) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "unused", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[bytes] = []
    while len(values) < count:
        found = consumer.consume(count, timeout=SECONDS_MAX)
        assert found, f"{len(values)} of {count} records"
        values += [message.value() for message in found]
    consumer.close()
    return values


@pytest.mark.parametrize("idempotent", [True, False])
def test_librdkafka_keeps_its_order_with_many_requests_in_flight(idempotent: bool) -> None:
    with ThreadedCluster(brokers=1, topics=["t:1:1"], config=PIPELINED) as cluster:
        producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap_servers,
                "enable.idempotence": idempotent,
                "linger.ms": 0,
                "batch.num.messages": 10,
            }
        )
        for number in range(RECORDS):
            producer.produce("t", b"%d" % number, partition=0)
        assert producer.flush(SECONDS_MAX) == 0
        assert values_of(cluster.bootstrap_servers, "t", RECORDS) == [b"%d" % number for number in range(RECORDS)]
        pool = cluster.cluster.broker(1).socket_server.handler_pool  # type: ignore[union-attr]
        persistence = pool.persistence  # type: ignore[attr-defined]
        # The first of them finds no write in progress; how many more share one is up to the client.
        assert 0 < persistence.writes <= persistence.requests


def test_kafka_python_gets_responses_in_order() -> None:
    with ThreadedCluster(brokers=2, topics=["t:1:2"], config=PIPELINED) as cluster:
        producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers.split(","), acks="all", batch_size=200)
        sent = [producer.send("t", b"%d" % number, partition=0) for number in range(200)]
        producer.flush(SECONDS_MAX)
        assert [each.get(SECONDS_MAX).offset for each in sent] == list(range(200))
        producer.close()
