"""kafka-python through the death and return of a leader, as a program of threads: prints a line for each seed given.

Each line has the fingerprint of the world, a hash of what the application saw with its times, and the counts.
"""

# ruff: noqa: TID251
# It is foreign code.

from __future__ import annotations

import hashlib
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from twisted.internet.defer import Deferred

from broker_scenarios.virtual_clients.kafka_python import kafka_python_on_virtual_time
from sim_runtime.virtual_threads import VirtualThreads
from sim_runtime.world import World
from tests.determinism.aiokafka_run import PARTITIONS, cluster_in

if TYPE_CHECKING:
    from broker_sim.cluster import Cluster

RECORDS = 150
KILLED_AFTER = 60
DOWN_S = 3
DEADLINE_MS = 300_000.0


class Application:
    def __init__(self, cluster: Cluster, world: World) -> None:
        self.cluster = cluster
        self.ended = Deferred[None]()
        self.acked: list[tuple[int, int]] = []
        self.read: list[tuple[int, int]] = []
        self._world = world
        self._seen = hashlib.blake2b(digest_size=8)

    def see(self, *facts: Any) -> None:
        self._seen.update(f"{time.monotonic():.6f} {facts}\n".encode())

    @property
    def seen(self) -> str:
        return self._seen.hexdigest()

    def produce(self) -> None:
        producer = KafkaProducer(bootstrap_servers=self.cluster.bootstrap_servers, acks="all", enable_idempotence=True)
        futures = []
        for number in range(RECORDS):
            if number == KILLED_AFTER:
                leader = self.cluster.leader_of("orders", 0)
                self.cluster.kill(leader)
                self._world.reactor.callLater(DOWN_S, self.cluster.restart, leader)
            future = producer.send("orders", b"%d" % number, key=b"%d" % (number % 17))
            future.add_callback(self.delivered)
            futures.append(future)
            time.sleep(0.002)
        for future in futures:
            future.get(timeout=60)
        producer.close()

    def delivered(self, metadata: Any) -> None:
        self.acked.append((metadata.partition, metadata.offset))
        self.see("acked", metadata.partition, metadata.offset, metadata.timestamp)

    def consume(self) -> None:
        consumer = KafkaConsumer(bootstrap_servers=self.cluster.bootstrap_servers, auto_offset_reset="earliest")
        consumer.assign([TopicPartition("orders", number) for number in range(PARTITIONS)])
        while len(self.read) < RECORDS:
            for records in consumer.poll(1_000).values():
                for record in records:
                    self.read.append((record.partition, record.offset))
                    self.see("read", record.partition, record.offset, record.value, record.timestamp)
        consumer.close()

    def main(self) -> None:
        threads = [threading.Thread(target=each) for each in (self.produce, self.consume)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.ended.callback(None)


def run(seed: int) -> tuple[Application, World]:
    world = World(seed)
    application = Application(cluster_in(world), world)
    threads = VirtualThreads()
    with kafka_python_on_virtual_time(world, threads, __name__):
        threads.start_program(world.network.host("application"), application.main, on_error=fail)
        world.run_until(application.ended, deadline_ms=DEADLINE_MS, awaited="the program")
    return application, world


def fail(thread: threading.Thread, error: BaseException) -> None:
    raise AssertionError(f"{thread.name} ended with {error!r}") from error


def fingerprint(seed: int) -> str:
    application, world = run(seed)
    return f"{world.fingerprint()} {application.seen} {len(application.acked)} {len(application.read)}"


if __name__ == "__main__":
    for seed in sys.argv[1:]:
        print(fingerprint(int(seed)))
