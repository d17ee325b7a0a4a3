"""Kafka's thread model beside AutoMQ's pipelined one: latency and throughput under the same load, on virtual time.

    python benchmarks/thread_models.py [--requests N]

One broker serves Produce requests. A handler needs SERVICE_MS to validate and append one, and a write to durable
storage takes PERSIST_MS (`persist.time.ms`). In the classic model the handler waits for its own write. In the pipelined
model requests share a write and their handlers continue. One seed determines all figures.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from twisted.internet.protocol import ClientFactory, Protocol

from broker_sim.cluster import Cluster, TopicSpec
from broker_sim.control.journal import Detail
from broker_sim.network.service_time import Exponential, ServiceTimeByApi
from protocol_specs.framing import FrameReader, encode_request
from protocol_specs.java_hash import string_hash
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.records.record_batch import RecordBatchBuilder
from sim_runtime.world import World

SEED = 7
HANDLERS = 8
SERVICE_MS = 0.2
SLOW_SERVICE_MS = 2.0
PERSIST_MS = 2.0
IN_FLIGHT = 5
"""As a producer's max.in.flight.requests.per.connection."""
REQUESTS = 1_000
RECORD_BYTES = 1_000
PERCENTILES = (50, 99)
DEADLINE_MS = 600_000
MODELS = ("classic", "pipelined")


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A load: each connection keeps IN_FLIGHT requests in flight, or all connections together send `rate_per_s`."""

    name: str
    connections: int
    service_ms: float = SERVICE_MS
    persist_ms: float = PERSIST_MS
    rate_per_s: float | None = None
    one_handler: bool | None = None
    """True if two busy connections use the same handler of the pipelined model; None for no preference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The figures of one model under one load; times in milliseconds."""

    model: str
    load: Load
    latencies_ms: tuple[float, ...]
    elapsed_s: float
    writes: int

    @property
    def throughput(self) -> float:
        """Requests per second."""
        return len(self.latencies_ms) / self.elapsed_s

    def percentile(self, percent: int) -> float:
        """Return the time within which this percentage of the requests had a response."""
        return statistics.quantiles(self.latencies_ms, n=100, method="inclusive")[percent - 1]


LOADS = (
    Load(name="1 connection, 5 in flight", connections=1),
    Load(name="32 connections, 5 in flight", connections=32),
    Load(name="32 connections, 1,000 requests/s", connections=32, rate_per_s=1_000.0),
    Load(name="32 connections, 3,500 requests/s", connections=32, rate_per_s=3_500.0),
    Load(name="2 busy connections, two handlers", connections=2, service_ms=SLOW_SERVICE_MS, one_handler=False),
    Load(name="2 busy connections, one handler", connections=2, service_ms=SLOW_SERVICE_MS, one_handler=True),
    Load(
        name="the same, nothing to persist",
        connections=2,
        service_ms=SLOW_SERVICE_MS,
        persist_ms=0.0,
        one_handler=True,
    ),
)


class Producer(Protocol):
    """One connection: it sends requests as the load defines; responses arrive in the same order."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.sent_at: list[float] = []
        self._reader = FrameReader(limit_bytes=1 << 20, option="benchmark")

    def send(self) -> None:
        """Send one more request, unless the run has sent all."""
        if self.run.take_one():
            self.sent_at.append(self.run.world.reactor.seconds())
            self.transport.write(self.run.frame)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        """Record the latency of each response; without a rate, send the next request."""
        for _ in self._reader.receive(data):
            self.run.latencies_ms.append((self.run.world.reactor.seconds() - self.sent_at.pop(0)) * 1000)
            if self.run.load.rate_per_s is None:
                self.send()


class Run:
    """One model under one load."""

    def __init__(self, model: str, load: Load, requests: int) -> None:
        self.model = model
        self.load = load
        self.left = requests
        self.latencies_ms: list[float] = []
        self.world = World(SEED)
        self._requests = requests
        self.cluster = Cluster(
            reactor=self.world.reactor,
            streams=self.world.streams,
            brokers=1,
            topics=[TopicSpec.parse("t:1:1")],
            config={
                "thread.model": model,
                "persist.time.ms": str(load.persist_ms),
                "num.io.threads": str(HANDLERS),
            },
            host="b1",
            broker_reactor=lambda _: self.world.network.host("b1"),
            journal_detail=Detail.CLUSTER,
        )
        self.cluster.start()
        self.server: Any = self.cluster.broker(1).socket_server
        self.server.handler_pool.service_time = ServiceTimeByApi(
            {"Produce": Exponential(load.service_ms)}, random=self.world.streams.stream("service times")
        )
        self.frame = _produce()

    def take_one(self) -> bool:
        """Count a request; return False if all requests of the run are sent."""
        if not self.left:
            return False
        self.left -= 1
        return True

    def measure(self) -> Measured:
        """Connect, send, and wait for every response."""
        producers = self._chosen()
        started_s = self.world.reactor.seconds()
        if self.load.rate_per_s is None:
            for producer in producers:
                for _ in range(IN_FLIGHT):
                    producer.send()
        else:
            # Poisson arrivals: independent of how fast the broker responds.
            random = self.world.streams.stream("arrivals")
            at_s = 0.0
            for _ in range(self._requests):
                at_s += random.expovariate(self.load.rate_per_s)
                self.world.reactor.callLater(at_s, random.choice(producers).send)
        self.world.run_until(lambda: len(self.latencies_ms) == self._requests, deadline_ms=DEADLINE_MS)
        elapsed_s = self.world.reactor.seconds() - started_s
        persistence = getattr(self.server.handler_pool, "persistence", None)
        writes = self._requests if persistence is None else persistence.writes
        self.cluster.close()
        return Measured(
            model=self.model,
            load=self.load,
            latencies_ms=tuple(self.latencies_ms),
            elapsed_s=elapsed_s,
            writes=writes,
        )

    def _chosen(self) -> list[Producer]:
        producers = [self._connect() for _ in range(self.load.connections)]
        while self.load.one_handler is not None:
            first, second = (self._handler_of(each) for each in producers)
            if (first == second) is self.load.one_handler:
                break
            producers[1] = self._connect()
        return producers

    def _connect(self) -> Producer:
        producer = Producer(self)
        factory = ClientFactory.forProtocol(lambda: producer)
        factory.noisy = False
        self.world.network.host("clients").connectTCP("b1", self.cluster.broker(1).port, factory)
        self.world.run_for(ms=1)
        return producer

    def _handler_of(self, producer: Producer) -> int:
        port = producer.transport.getHost().port  # type: ignore[union-attr]
        ids = [channel.info for processor in self.server.processors for channel in processor.channels]
        (connection_id,) = (info.connection_id for info in ids if info.client_port == port)
        return abs(string_hash(connection_id)) % HANDLERS


def compare(load: Load, requests: int = REQUESTS) -> tuple[Measured, Measured]:
    """Run both models under one load; the classic one is first."""
    classic, pipelined = (Run(model, load, requests).measure() for model in MODELS)
    return classic, pipelined


def table(results: list[tuple[Measured, Measured]]) -> str:
    """Format both models, one line each."""
    lines = [f"{'load':<34} {'model':<10} {'requests/s':>10} {'p50 ms':>8} {'p99 ms':>8} {'writes':>7}"]
    for pair in results:
        for measured in pair:
            times = " ".join(f"{measured.percentile(percent):8.2f}" for percent in PERCENTILES)
            name = measured.load.name if measured is pair[0] else ""
            lines.append(f"{name:<34} {measured.model:<10} {measured.throughput:10.0f} {times} {measured.writes:7}")
    return "\n".join(lines)


def _produce() -> bytes:
    batch = RecordBatchBuilder()
    batch.append(0, None, b"v" * RECORD_BYTES, ())
    topic = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=batch.build())])
    request = ProduceRequest(transactional_id=None, acks=-1, timeout_ms=30_000, topic_data=[topic])
    return encode_request(request, 9, correlation_id=1, client_id="benchmark")


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=REQUESTS, help="requests of each run (default %(default)s)")
    options = parser.parse_args()
    print(
        f"{HANDLERS} handlers, {SERVICE_MS:g} ms to handle a request ({SLOW_SERVICE_MS:g} ms with 2 connections), "
        f"{PERSIST_MS:g} ms per write; virtual time, seed {SEED}"
    )
    print(table([compare(load, options.requests) for load in LOADS]))


if __name__ == "__main__":
    main()
