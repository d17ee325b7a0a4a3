"""The cost of replication: acks=all on a topic with three replicas against a topic with one, in the same cluster."""

from __future__ import annotations

import statistics

from benchmarks.broker_vs_librdkafka_mock import records_per_second
from benchmarks.measured_producer import measure
from benchmarks.result import Result, table
from tests.interop.served_cluster import served_cluster

RECORD_BYTES = 100
RECORDS = 300_000
TARGET = 0.5


def run(pairs: int) -> list[Result]:
    """Send to both topics in alternation, `pairs` times."""
    three: list[float] = []
    one: list[float] = []
    arguments = ("--brokers", "3", "--port", "0", "--topic", "three:3:3", "--topic", "one:3:1")
    for _ in range(pairs):
        with served_cluster(*arguments) as cluster:
            for figures, topic in ((three, "three"), (one, "one")):
                rounds = measure("throughput", [cluster.bootstrap_servers], topic, RECORD_BYTES, RECORDS)
                figures.append(rounds[0][0])
    return [
        Result(
            name="100 B records, acks=all, replication factor 3 against 1",
            ours=records_per_second(statistics.median(three)),
            other=records_per_second(statistics.median(one)),
            figure=statistics.median(many / single for many, single in zip(three, one, strict=True)),
            target=TARGET,
            at_least=True,
            unit="x",
        )
    ]


if __name__ == "__main__":
    print(table(run(pairs=5)))
