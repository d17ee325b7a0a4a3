"""aiokafka through the death and return of a leader, as a program: prints a line for each seed given.

Each line has the fingerprint of the world, a hash of what the application saw with its times, and the counts.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from broker_scenarios.virtual_clients.aiokafka import aiokafka_on_virtual_time
from broker_sim.cluster import Cluster
from broker_sim.topic_spec import TopicSpec
from sim_runtime.virtual_event_loop import VirtualEventLoop
from sim_runtime.world import World

RECORDS = 600
PARTITIONS = 3
KILLED_AFTER = 300
DOWN_S = 15


def cluster_in(world: World) -> Cluster:
    cluster = Cluster(
        reactor=world.reactor,
        brokers=3,
        topics=[TopicSpec(name="orders", partitions=PARTITIONS, replication_factor=3)],
        config={"min.insync.replicas": "2"},
        streams=world.streams,
        digest=world.digest,
        host=lambda broker_id: f"broker-{broker_id}",
        broker_reactor=lambda broker_id: world.network.host(f"broker-{broker_id}"),
    )
    cluster.attach_to_network(world.network)
    cluster.start()
    return cluster


class Application:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.acked: list[tuple[int, int]] = []
        self.read: list[tuple[int, int]] = []
        self._seen = hashlib.blake2b(digest_size=8)

    def see(self, *facts: Any) -> None:
        self._seen.update(f"{asyncio.get_running_loop().time():.6f} {facts}\n".encode())

    @property
    def seen(self) -> str:
        return self._seen.hexdigest()

    async def produce(self) -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=self.cluster.bootstrap_servers, acks="all", enable_idempotence=True
        )
        async with producer:
            futures = []
            for number in range(RECORDS):
                if number == KILLED_AFTER:
                    leader = self.cluster.leader_of("orders", 0)
                    self.cluster.kill(leader)
                    asyncio.get_running_loop().call_later(DOWN_S, self.cluster.restart, leader)
                future = await producer.send("orders", b"%d" % number, key=b"%d" % (number % 17))
                future.add_done_callback(self.delivered)
                futures.append(future)
                await asyncio.sleep(0.002)
            await asyncio.gather(*futures)

    def delivered(self, future: asyncio.Future[Any]) -> None:
        metadata = future.result()
        self.acked.append((metadata.partition, metadata.offset))
        self.see("acked", metadata.partition, metadata.offset, metadata.timestamp)

    async def consume(self) -> None:
        consumer = AIOKafkaConsumer(bootstrap_servers=self.cluster.bootstrap_servers, auto_offset_reset="earliest")
        await consumer.start()
        consumer.assign([TopicPartition("orders", number) for number in range(PARTITIONS)])
        while len(self.read) < RECORDS:
            record = await consumer.getone()
            self.read.append((record.partition, record.offset))
            self.see("read", record.partition, record.offset, record.value, record.timestamp)
        await asyncio.sleep(DOWN_S)  # a fetch in its backoff would raise from stop()
        await consumer.stop()

    async def main(self) -> None:
        await asyncio.gather(self.produce(), self.consume())


def run(seed: int) -> tuple[Application, World]:
    world = World(seed)
    application = Application(cluster_in(world))
    loop = VirtualEventLoop(world, world.network.host("application"))
    with aiokafka_on_virtual_time(world, __name__), asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(application.main())
    return application, world


def fingerprint(seed: int) -> str:
    application, world = run(seed)
    return f"{world.fingerprint()} {application.seen} {len(application.acked)} {len(application.read)}"


if __name__ == "__main__":
    for seed in sys.argv[1:]:
        print(fingerprint(int(seed)))
