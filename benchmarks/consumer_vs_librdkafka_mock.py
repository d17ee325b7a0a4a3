"""The same confluent-kafka consumer against `broker-sim serve` and against librdkafka's mock cluster, both in memory.

The records fit into what the mock keeps (5 MiB per partition). The mock commits offsets without a log.
"""

from __future__ import annotations

import math
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.broker_vs_librdkafka_mock import (
    ORDERS,
    PARTITIONS,
    TOPIC,
    median_error,
    milliseconds,
    records_per_second,
)
from benchmarks.librdkafka_mock import librdkafka_mock
from benchmarks.measured_consumer import measure
from benchmarks.process_usage import cpu_seconds
from benchmarks.result import Result, table
from tests.interop.served_cluster import served_cluster

ROUNDS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The work of one consumer per round, and the target for the ratio of ours to the mock's figure."""

    name: str
    kind: str
    record_bytes: int
    count: int
    target: float


LOADS = [
    Load(name="consume 100 B records", kind="consume", record_bytes=100, count=120_000, target=1.0),
    Load(name="consume 1 kB records", kind="consume", record_bytes=1000, count=16_000, target=1.0),
    Load(name="OffsetCommit, median", kind="commit", record_bytes=0, count=500, target=1.5),
]


def run(pairs: int) -> list[Result]:
    """Measure every load with `pairs` pairs of servers."""
    return [compare(load, pairs) for load in LOADS]


def compare(load: Load, pairs: int) -> Result:
    """Measure one load; both servers start anew for each pair."""
    rounds: dict[int, list[list[float]]] = {order: [] for order in ORDERS}
    cpu_us: tuple[list[float], list[float]] = ([], [])
    for _ in range(pairs):
        for order in ORDERS:
            arguments = ("--brokers", "1", "--port", "0", "--topic", f"{TOPIC}:{PARTITIONS}:1")
            with served_cluster(*arguments) as cluster, librdkafka_mock() as peer:
                servers = [cluster.bootstrap_servers, peer.bootstrap_servers]
                measured = measure(load.kind, servers[::order], TOPIC, load.record_bytes, load.count, rounds=ROUNDS)
                rounds[order] += [figures[::order] for figures in measured]
                for side, pid in enumerate((cluster.process.pid, peer.pid)):
                    cpu_us[side].append(cpu_seconds(pid) / (load.count * (ROUNDS + 1)) * 1e6)
    ours, others = zip(*(figures for of_order in rounds.values() for figures in of_order), strict=True)
    ratios = [[math.log(our / their) for our, their in of_order] for of_order in rounds.values()]
    ratio = math.exp(statistics.mean(statistics.median(of_order) for of_order in ratios))
    errors = [median_error(of_order) for of_order in ratios]
    show = milliseconds if load.kind == "commit" else records_per_second
    ours_us, other_us = (f"{statistics.median(each):.2f} us CPU" for each in cpu_us)
    return Result(
        name=f"{load.name}, against librdkafka's mock",
        ours=f"{show(statistics.median(ours))}, {ours_us}",
        other=f"{show(statistics.median(others))}, {other_us}",
        figure=ratio,
        error=ratio * math.hypot(*errors) / len(errors),
        target=load.target,
        at_least=load.kind == "consume",
        unit="x",
    )


if __name__ == "__main__":
    print(table(run(pairs=2)))
