"""The proxy in front of a real Kafka: clients stay on it, and its rules act as in front of our own cluster."""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from broker_sim.faults.grammar import parse_rule
from broker_sim.wire_proxy.wire_proxy import WireProxy
from sim_runtime.random_streams import RandomStreams
from sim_runtime.reactor_thread import ReactorThread
from tests.interop.real_kafka import real_kafka
from tests.interop.test_our_producer import create

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.real_kafka import RealKafka

PATIENCE_S = 30


@pytest.fixture(scope="module", params=["3.7.2", "4.3.1"])
def kafka(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    with real_kafka(request.param, brokers=2) as cluster:
        yield cluster


@pytest.fixture
def topic(kafka: RealKafka) -> str:
    name = f"topic-{uuid.uuid4().hex[:8]}"
    create(kafka.bootstrap_servers, name, 2)
    return name


@contextmanager
def proxy(kafka: RealKafka, **rules: Any) -> Iterator[WireProxy]:
    host, _, port = kafka.bootstrap_servers.split(",")[0].rpartition(":")
    with ReactorThread("proxy") as thread:
        made = WireProxy(reactor=thread.reactor, streams=RandomStreams(1), upstream=(host, int(port)))
        thread.call(made.start)
        for name, rule in rules.items():
            thread.call(made.add, parse_rule({"name": name, **rule}))
        yield made
        thread.call(made.close)
        assert [report.problem for report in made.faults.reports()] == [None] * len(rules)


def send(servers: str, topic: str, count: int, **config: Any) -> None:
    producer = Producer({"bootstrap.servers": servers, "client.id": "app", "linger.ms": 50, **config})
    for number in range(count):
        producer.produce(topic, partition=number % 2, value=str(number))
    assert producer.flush(PATIENCE_S) == 0


def read(servers: str, topic: str, count: int) -> list[int]:
    group = {"group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest"}
    consumer = Consumer({"bootstrap.servers": servers, "client.id": "reader", **group})
    consumer.subscribe([topic])
    values: list[int] = []
    while len(values) < count:
        found = consumer.poll(PATIENCE_S)
        assert found is not None
        if found.error() is None:
            values.append(int(found.value()))
    consumer.close()
    return values


def test_clients_stay_on_the_proxy(kafka: RealKafka, topic: str) -> None:
    with proxy(kafka) as between:
        servers = between.bootstrap_servers
        send(servers, topic, 100)
        assert sorted(read(servers, topic, 100)) == list(range(100))
        brokers = AdminClient({"bootstrap.servers": servers}).list_topics(timeout=PATIENCE_S).brokers.values()
        assert {f"{broker.host}:{broker.port}" for broker in brokers} == set(servers.split(","))


def test_a_lost_response_is_a_second_copy(kafka: RealKafka, topic: str) -> None:
    lose = {"select": {"api": "Produce", "nth": 1}, "phase": "before_response", "act": "disconnect"}
    with proxy(kafka, lose=lose) as between:
        send(between.bootstrap_servers, topic, 10)
        values = read(between.bootstrap_servers, topic, 15)
        assert set(values) == set(range(10))
        assert len(values) == 15


def test_an_idempotent_producer_stores_it_once(kafka: RealKafka, topic: str) -> None:
    lose = {"select": {"api": "Produce", "nth": 1}, "phase": "before_response", "act": "disconnect"}
    with proxy(kafka, lose=lose) as between:
        send(between.bootstrap_servers, topic, 10, **{"enable.idempotence": True})
        send(between.bootstrap_servers, topic, 10, **{"enable.idempotence": True})
        assert sorted(read(between.bootstrap_servers, topic, 20)) == sorted(2 * list(range(10)))


def test_a_toxic_and_an_error_act_before_a_real_broker(kafka: RealKafka, topic: str) -> None:
    slow = {"act": {"toxic": {"type": "latency", "attributes": {"latency": 100}, "from": "client app"}}}
    refuse = {"select": {"api": "Produce", "nth": [1, 2]}, "act": {"error": "NOT_LEADER_OR_FOLLOWER"}}
    with proxy(kafka, slow=slow, refuse=refuse) as between:
        begin_s = perf_counter()
        send(between.bootstrap_servers, topic, 10)
        assert perf_counter() - begin_s > 0.4
        assert sorted(read(between.bootstrap_servers, topic, 10)) == list(range(10))
