"""The same confluent-kafka producer against `broker-sim serve` and against librdkafka's mock cluster, both in memory.

The mock keeps the last 5 MiB of a partition, and ours is configured to keep the same. A log without limit would measure
the machine's price of memory that was never used before.

One process runs one producer per server. They alternate, so that a slow moment of the machine affects both; a ratio is
the median over all rounds of all pairs of servers, in both orders. With records of 100 bytes the producer is the limit:
its sending thread is never idle, with either server.

CPU is user and system time of the broker's process, in microseconds per request where each record is a request, else
per record. It includes the time in which the broker waits actively for the next request.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from benchmarks.librdkafka_mock import librdkafka_mock
from benchmarks.measured_process import measure
from benchmarks.paired_rounds import ORDERS, PairedRounds
from benchmarks.process_usage import cpu_seconds
from benchmarks.result import table
from tests.interop.served_cluster import served_cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from benchmarks.librdkafka_mock import Server
    from benchmarks.result import Result

TOPIC = "measured"
PARTITIONS = 4  # what the mock gives a topic that it makes on first use
KEPT_BY_THE_MOCK = {
    "log.retention.bytes": 5 << 20,
    "log.segment.bytes": 1 << 20,
    "log.retention.check.interval.ms": 50,
    "log.initial.task.delay.ms": 50,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The records that one producer sends per round, and the target for the ratio of ours to the mock's figure."""

    name: str
    kind: str
    record_bytes: int
    records: int
    configs: tuple[str, ...]
    target: float
    processes: int = 1
    """How many processes measure a pair of servers in each order, one after another."""
    cpu_unit: str = "record"
    """The unit of the printed CPU time: a request where each record is sent by itself."""


ROUNDS = 6
"""Rounds of each side in one process, after one round that is not measured."""
LOADS = [
    # The target is equality. A small difference needs many rounds and many processes, because the speed of a process
    # depends on where its memory is; with the default size of the queue the producer would wait for itself.
    Load(
        name="100 B records",
        kind="throughput",
        record_bytes=100,
        records=100_000,
        configs=("queue.buffering.max.messages=1000000",),
        target=1.0,
        processes=8,
    ),
    Load(name="1 kB records", kind="throughput", record_bytes=1000, records=100_000, configs=(), target=0.8),
    Load(
        name="one record per request",
        kind="throughput",
        record_bytes=100,
        records=20_000,
        configs=("linger.ms=0", "batch.num.messages=1"),
        target=0.9,
        cpu_unit="request",
    ),
    Load(
        name="synchronous send, median",
        kind="latency",
        record_bytes=100,
        records=500,
        configs=("linger.ms=0",),
        target=1.25,
        cpu_unit="request",
    ),
]


def run(pairs: int) -> list[Result]:
    """Measure every load with `pairs` pairs of servers."""
    return [
        compare(load, pairs, other=librdkafka_mock, name="librdkafka's mock", configs=KEPT_BY_THE_MOCK)
        for load in LOADS
    ]


def compare(
    load: Load,
    pairs: int,
    *,
    other: Callable[[], AbstractContextManager[Server]],
    name: str,
    configs: Mapping[str, int] = MappingProxyType({}),
) -> Result:
    """Measure one load, ours with `configs`. Both servers start anew for each pair; an idle server uses no CPU."""
    rounds = PairedRounds()
    arguments = ["--brokers", "1", "--port", "0", "--topic", f"{TOPIC}:{PARTITIONS}:1"]
    for key, value in configs.items():
        arguments += ["-o", f"{key}={value}"]
    for _ in range(pairs):
        with served_cluster(*arguments) as cluster, other() as peer:
            servers = [cluster.bootstrap_servers, peer.bootstrap_servers]
            pids = [cluster.process.pid, peer.pid]
            before_s = [cpu_seconds(pid) for pid in pids]
            for order in ORDERS * load.processes:
                measured = measure(
                    "measured_producer",
                    load.kind,
                    servers[::order],
                    TOPIC,
                    load.record_bytes,
                    load.records,
                    *load.configs,
                    rounds=ROUNDS,
                )
                rounds.add(order, measured)
            sent = load.records * (ROUNDS + 1) * len(ORDERS) * load.processes
            rounds.add_cpu(
                *((cpu_seconds(pid) - start_s) / sent * 1e6 for pid, start_s in zip(pids, before_s, strict=True))
            )
    return rounds.result(
        f"{load.name}, against {name}", target=load.target, is_time=load.kind == "latency", cpu_unit=load.cpu_unit
    )


if __name__ == "__main__":
    print(table(run(pairs=5)))
