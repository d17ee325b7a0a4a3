"""The same confluent-kafka producer against `broker-sim serve` and against librdkafka's mock cluster, both in memory.

The mock keeps the last 5 MiB of a partition and no more, and ours is told to do the same: what is kept for good is
memory that nobody has touched before, and the price of that is the machine's.

One process has a producer for each and lets them take turns, so that a slow moment of the machine meets both; a ratio
is the median over all turns of all pairs of servers, in both orders. With records of 100 bytes the producer is the
limit: its thread that sends is never idle, whichever server it sends to.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from benchmarks.librdkafka_mock import librdkafka_mock
from benchmarks.measured_producer import measure
from benchmarks.result import Result, table
from tests.interop.served_cluster import served_cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

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
    """What one producer sends in one turn, and the bar for ours over the mock's."""

    name: str
    kind: str
    record_bytes: int
    records: int
    configs: tuple[str, ...]
    bar: float
    processes: int = 1
    """How many processes measure a pair of servers in each order, one after another."""


ROUNDS = 6
"""Turns of each side in one process."""
ORDERS = (1, -1)
"""The first producer of a process is some hundredths slower than the second, whatever server it has."""

LOADS = [
    # The bar is that the servers come out even. To see a small difference takes many turns, and many processes, because
    # luck stays with a producer; with the queue full, which is its default's size, it would wait for itself.
    Load(
        name="100 B records",
        kind="throughput",
        record_bytes=100,
        records=100_000,
        configs=("queue.buffering.max.messages=1000000",),
        bar=1.0,
        processes=8,
    ),
    Load(name="1 kB records", kind="throughput", record_bytes=1000, records=100_000, configs=(), bar=0.8),
    Load(
        name="one record a request",
        kind="throughput",
        record_bytes=100,
        records=20_000,
        configs=("linger.ms=0", "batch.num.messages=1"),
        bar=0.9,
    ),
    Load(
        name="synchronous send, median",
        kind="latency",
        record_bytes=100,
        records=500,
        configs=("linger.ms=0",),
        bar=1.25,
    ),
]


def run(pairs: int) -> list[Result]:
    """Every load, `pairs` times against each."""
    return [
        compare(load, pairs, other=librdkafka_mock, name="librdkafka's mock", configs=KEPT_BY_THE_MOCK)
        for load in LOADS
    ]


def compare(
    load: Load,
    pairs: int,
    *,
    other: Callable[[], AbstractContextManager[str]],
    name: str,
    configs: Mapping[str, int] = MappingProxyType({}),
) -> Result:
    """One load, ours with `configs`. Both servers start fresh for each pair; an idle one costs the other nothing."""
    rounds: dict[int, list[list[float]]] = {order: [] for order in ORDERS}
    arguments = ["--brokers", "1", "--port", "0", "--topic", f"{TOPIC}:{PARTITIONS}:1"]
    for key, value in configs.items():
        arguments += ["-o", f"{key}={value}"]
    for _ in range(pairs):
        with served_cluster(*arguments) as cluster, other() as other_servers:
            servers = [cluster.bootstrap_servers, other_servers]
            for order in ORDERS * load.processes:
                told = measure(
                    load.kind, servers[::order], TOPIC, load.record_bytes, load.records, *load.configs, rounds=ROUNDS
                )
                rounds[order] += [figures[::order] for figures in told]
    ours, others = zip(*(figures for of_order in rounds.values() for figures in of_order), strict=True)
    # In logarithms, where a ratio and its inverse are the same size.
    ratios = [[math.log(our / their) for our, their in of_order] for of_order in rounds.values()]
    ratio = math.exp(statistics.mean(statistics.median(of_order) for of_order in ratios))
    errors = [median_error(of_order) for of_order in ratios]
    show = milliseconds if load.kind == "latency" else records_a_second
    return Result(
        name=f"{load.name}, against {name}",
        ours=show(statistics.median(ours)),
        other=show(statistics.median(others)),
        figure=ratio,
        error=ratio * math.hypot(*errors) / len(errors),
        bar=load.bar,
        at_least=load.kind == "throughput",
        unit="x",
    )


def median_error(figures: Sequence[float]) -> float:
    """The standard error of their median: half the distance of those a standard deviation of ranks beside it."""
    ordered, middle, ranks = sorted(figures), len(figures) / 2, math.sqrt(len(figures)) / 2
    return (ordered[min(math.ceil(middle + ranks), len(figures) - 1)] - ordered[math.floor(middle - ranks)]) / 2


def records_a_second(figure: float) -> str:
    """A throughput as text."""
    return f"{figure:,.0f}/s"


def milliseconds(seconds: float) -> str:
    """A time as text."""
    return f"{1000 * seconds:.3f} ms"


if __name__ == "__main__":
    print(table(run(pairs=5)))
