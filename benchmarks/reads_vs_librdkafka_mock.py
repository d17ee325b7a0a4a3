"""The same confluent-kafka consumer against `broker-sim serve` and against librdkafka's mock cluster, both in memory.

The records fit into what the mock keeps (5 MiB per partition). The mock commits offsets without a log.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.broker_vs_librdkafka_mock import PARTITIONS, TOPIC
from benchmarks.librdkafka_mock import librdkafka_mock
from benchmarks.measured_process import measure
from benchmarks.paired_rounds import ORDERS, PairedRounds
from benchmarks.process_usage import cpu_seconds
from benchmarks.result import table
from tests.interop.served_cluster import served_cluster

if TYPE_CHECKING:
    from benchmarks.result import Result

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
    rounds = PairedRounds()
    for _ in range(pairs):
        for order in ORDERS:
            arguments = ("--brokers", "1", "--port", "0", "--topic", f"{TOPIC}:{PARTITIONS}:1")
            with served_cluster(*arguments) as cluster, librdkafka_mock() as peer:
                servers = [cluster.bootstrap_servers, peer.bootstrap_servers]
                before = [cpu_seconds(pid) for pid in (cluster.process.pid, peer.pid)]
                measured = measure(
                    "measured_consumer",
                    load.kind,
                    servers[::order],
                    TOPIC,
                    load.record_bytes,
                    load.count,
                    rounds=ROUNDS,
                )
                rounds.add(order, measured)
                done = load.count * (ROUNDS + 1)
                after = [cpu_seconds(pid) for pid in (cluster.process.pid, peer.pid)]
                rounds.add_cpu(*((end - start) / done * 1e6 for start, end in zip(before, after, strict=True)))
    commits = load.kind == "commit"
    name = f"{load.name}, against librdkafka's mock"
    return rounds.result(name, target=load.target, is_time=commits, cpu_unit="commit" if commits else "record")


if __name__ == "__main__":
    print(table(run(pairs=2)))
