"""Our metrics beside those of the Java producer 4.3.1: names, tags, descriptions, and what one run measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.client.core.metrics.metrics_as_java import (
    CONFIG,
    NODE_GROUP,
    SENT,
    TIMESTAMP_MS,
    TOPIC,
    comparable,
    of_ours,
    recorded,
)
from tests.client.scripted_broker import ScriptedCluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.producer.producer_core import ProducerCore
    from sim_runtime.world import World


def test_the_same_sends_are_measured_as_java_does(world: World, producer_on: Callable[..., ProducerCore]) -> None:
    cluster = ScriptedCluster(world, brokers=1)
    cluster.create(TOPIC)
    producer = producer_on(cluster, **CONFIG)
    made = of_ours(producer.metrics.read())
    assert not [key for key in made if key[0] == NODE_GROUP]

    async def run() -> None:
        for sizes in SENT:
            for size in sizes:
                producer.send(TOPIC, bytes(size), partition=0, timestamp_ms=TIMESTAMP_MS)
            await producer.flush()

    world.run_for(ms=1_000)  # the requests that it sends in any case
    world.run_until(run())
    assert comparable(made, of_ours(producer.metrics.read())) == recorded()


def test_what_java_measures_covers_every_group() -> None:
    groups: dict[str, list[Any]] = {}
    for metric in recorded()["sent"]:
        groups.setdefault(metric["group"], []).append(metric)
    assert {group: len(metrics) for group, metrics in groups.items()} == {
        "app-info": 3,
        "kafka-metrics-count": 1,
        "producer-metrics": 73,
        "producer-node-metrics": 24,
        "producer-topic-metrics": 9,
    }
