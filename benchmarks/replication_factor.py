"""The cost of replication: acks=all on a topic with three replicas against a topic with one, in the same cluster."""

from __future__ import annotations

import statistics
from typing import Final, NamedTuple

from benchmarks.measured_process import measure
from benchmarks.paired_rounds import records_per_second
from benchmarks.result import Result, table
from tests.interop.served_cluster import served_cluster

RECORD_BYTES: Final = 100
SERVED: Final = ("--brokers", "3", "--port", "0", "--topic", "three:3:3", "--topic", "one:3:1")


class Load(NamedTuple):
    """One row: the producer's configuration, and the least rate with three replicas as a share of that with one."""

    name: str
    records: int
    configs: tuple[str, ...]
    target: float


LOADS: Final = (
    Load("100 B records", 300_000, (), 0.65),
    Load("one 100 B record per request", 20_000, ("linger.ms=0", "batch.num.messages=1"), 0.3),
)


def run(pairs: int) -> list[Result]:
    """Send each load to both topics in alternation, `pairs` times."""
    return [_row(load, pairs) for load in LOADS]


def _row(load: Load, pairs: int) -> Result:
    three: list[float] = []
    one: list[float] = []
    for _ in range(pairs):
        with served_cluster(*SERVED) as cluster:
            for figures, topic in ((three, "three"), (one, "one")):
                servers = [cluster.bootstrap_servers]
                rounds = measure(
                    "measured_producer", "throughput", servers, topic, RECORD_BYTES, load.records, *load.configs
                )
                figures.append(rounds[0][0])
    return Result(
        name=f"{load.name}, acks=all, replication factor 3 against 1",
        ours=records_per_second(statistics.median(three)),
        other=records_per_second(statistics.median(one)),
        figure=statistics.median(many / single for many, single in zip(three, one, strict=True)),
        target=load.target,
        at_least=True,
        unit="x",
    )


if __name__ == "__main__":
    print(table(run(pairs=5)))
