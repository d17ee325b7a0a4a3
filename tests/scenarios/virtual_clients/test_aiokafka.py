"""A canary per private name of aiokafka that its adapter replaces, and the effect of each."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.producer.message_accumulator import BatchBuilder

from broker_scenarios.virtual_clients.aiokafka import aiokafka_on_virtual_time
from broker_sim.cluster import Cluster
from sim_runtime.ordered_sets import OrderedSet
from sim_runtime.virtual_event_loop import VirtualEventLoop
from sim_runtime.world import World


def run(world: World, program: Any) -> Any:
    cluster = Cluster(
        reactor=world.reactor,
        brokers=1,
        topics={"orders": 1},
        streams=world.streams,
        digest=world.digest,
        host="broker-1",
        broker_reactor=lambda _: world.network.host("broker-1"),
    )
    cluster.attach_to_network(world.network)
    cluster.start()
    with (
        aiokafka_on_virtual_time(world),
        asyncio.Runner(loop_factory=lambda: VirtualEventLoop(world, world.network.host("application"))) as runner,
    ):
        return runner.run(program(cluster.bootstrap_servers))


async def sent(bootstrap_servers: str) -> tuple[str, int]:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap_servers) as producer:
        metadata = await producer.send_and_wait("orders", b"v")
        return producer.client._client_id, metadata.timestamp


@pytest.mark.parametrize("seed", [1, 2])
def test_ids_begin_at_one_and_timestamps_are_virtual(seed: int) -> None:
    world = World(seed)
    client_id, timestamp = run(world, sent)
    assert client_id == "aiokafka-producer-1"
    assert abs(timestamp / 1000 - world.reactor.seconds()) < 1


def test_what_is_replaced_is_put_back() -> None:
    append = BatchBuilder.append
    with aiokafka_on_virtual_time(World(1)):
        assert BatchBuilder.append is not append
    assert BatchBuilder.append is append


async def first_topics(bootstrap_servers: str) -> type:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap_servers) as producer:
        await producer.send_and_wait("orders", b"v")
        return type(producer.client._topics)


def test_its_sets_are_ordered() -> None:
    assert run(World(1), first_topics) is OrderedSet
