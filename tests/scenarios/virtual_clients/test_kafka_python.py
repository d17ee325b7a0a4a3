"""A canary per private name of kafka-python that its adapter replaces, and the effect of each."""

from __future__ import annotations

import atexit
import time
from typing import TYPE_CHECKING, Any

import kafka.producer.kafka
import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.net.selector import NetworkSelector
from kafka.record.default_records import DefaultRecordBatchBuilder
from twisted.internet.defer import Deferred

from broker_scenarios.virtual_clients.kafka_python import kafka_python_on_virtual_time
from sim_runtime.ordered_sets import OrderedSet
from sim_runtime.virtual_threads import VirtualThreads
from sim_runtime.world import World
from tests.determinism.aiokafka_run import cluster_in

if TYPE_CHECKING:
    from collections.abc import Callable


def run(world: World, program: Callable[[str], Any]) -> Any:
    """The result of a program that is given bootstrap servers."""
    cluster, threads, ended = cluster_in(world), VirtualThreads(), Deferred[Any]()
    with kafka_python_on_virtual_time(world, threads):
        threads.start_program(
            world.network.host("application"),
            lambda: ended.callback(program(cluster.bootstrap_servers)),
            on_error=lambda _, error: ended.errback(error),
        )
        return world.run_until(ended, deadline_ms=60_000, awaited="the program")


def sent(bootstrap_servers: str) -> tuple[str, int]:
    producer = KafkaProducer(bootstrap_servers=bootstrap_servers)
    metadata = producer.send("orders", b"v").get(timeout=10)
    producer.close()
    return producer.config["client_id"], metadata.timestamp


@pytest.mark.parametrize("seed", [1, 2])
def test_ids_begin_at_one_and_timestamps_are_virtual(seed: int) -> None:
    world = World(seed)
    client_id, timestamp = run(world, sent)
    assert client_id == "kafka-python-producer-1"
    assert abs(timestamp / 1000 - world.reactor.seconds()) < 1


def changed_things() -> list[Any]:
    defaults = DefaultRecordBatchBuilder.append.__defaults__
    finalizer, ids = KafkaProducer.__del__, kafka.producer.kafka.PRODUCER_CLIENT_ID_SEQUENCE
    selectors = [each.DEFAULT_CONFIG["selector"] for each in (KafkaProducer, KafkaConsumer, NetworkSelector)]
    return [finalizer, ids, kafka.producer.kafka.atexit, defaults, *selectors]


def test_what_is_replaced_is_put_back() -> None:
    before = changed_things()
    assert before[2] is atexit
    assert time.time in before[3]  # noqa: TID251 - to find where it is kept
    with kafka_python_on_virtual_time(World(1), VirtualThreads()):
        for within, was in zip(changed_things(), before, strict=True):
            assert within is not was
    assert changed_things() == before


def test_its_sets_are_ordered() -> None:
    def program(bootstrap_servers: str) -> type:
        consumer = KafkaConsumer("orders", bootstrap_servers=bootstrap_servers)
        found = type(consumer.topics())
        consumer.close()
        return found

    assert run(World(1), program) is OrderedSet


def test_a_producer_that_its_program_drops_is_closed() -> None:
    def program(bootstrap_servers: str) -> bool:
        producer = KafkaProducer(bootstrap_servers=bootstrap_servers)
        sender = producer._sender
        del producer
        return bool(sender.is_alive())

    assert run(World(1), program) is False
