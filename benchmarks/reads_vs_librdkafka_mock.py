"""The same confluent-kafka consumer against `broker-sim serve` and against librdkafka's mock cluster, both in memory.

    python benchmarks/reads_vs_librdkafka_mock.py [--real] [--pairs N]

The records fit into what the mock keeps (5 MiB per partition). The mock commits offsets without a log. `--real` also
compares consumption with a real Kafka 4.3.1. The client limits the records per second of every broker while a core is
idle; the CPU time per record differs between brokers.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.broker_vs_librdkafka_mock import PARTITIONS, TOPIC
from benchmarks.librdkafka_mock import librdkafka_mock
from benchmarks.measured_consumer import fill
from benchmarks.measured_process import measure
from benchmarks.paired_rounds import ORDERS, PairedRounds
from benchmarks.process_usage import cpu_seconds
from benchmarks.result import table
from benchmarks.transactions import RELEASE, real
from tests.interop.served_cluster import served_cluster

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from benchmarks.librdkafka_mock import Server
    from benchmarks.result import Result

ROUNDS = 8
REAL_TARGET = 1.2


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


def run(pairs: int, *, with_real: bool = False) -> list[Result]:
    """Measure every load with `pairs` pairs of servers."""
    results = [compare(load, pairs, librdkafka_mock, "librdkafka's mock", load.target) for load in LOADS]
    if with_real:
        consumed = [load for load in LOADS if load.kind == "consume"]
        results += [compare(load, pairs, _real, f"Kafka {RELEASE}", REAL_TARGET) for load in consumed]
    return results


def compare(
    load: Load, pairs: int, other: Callable[[], AbstractContextManager[Server]], name: str, target: float
) -> Result:
    """Measure one load; both servers start anew for each pair."""
    rounds = PairedRounds()
    for _ in range(pairs):
        for order in ORDERS:
            options = ("--brokers", "1", "--port", "0", "--topic", f"{TOPIC}:{PARTITIONS}:1")
            with served_cluster(*options) as cluster, other() as peer:
                servers = [cluster.bootstrap_servers, peer.bootstrap_servers]
                for address in servers:
                    fill(address, TOPIC, load.record_bytes, load.count)
                arguments = ("measured_consumer", load.kind, servers[::order], TOPIC, load.record_bytes, load.count)
                measure(*arguments, rounds=0)  # the topic of offsets is made by the first consumer
                before = [cpu_seconds(pid) for pid in (cluster.process.pid, peer.pid)]
                rounds.add(order, measure(*arguments, rounds=ROUNDS))
                done = load.count * (ROUNDS + 1)
                after = [cpu_seconds(pid) for pid in (cluster.process.pid, peer.pid)]
                rounds.add_cpu(*((end - start) / done * 1e6 for start, end in zip(before, after, strict=True)))
    commits = load.kind == "commit"
    unit = "commit" if commits else "record"
    return rounds.result(f"{load.name}, against {name}", target=target, is_time=commits, cpu_unit=unit)


def _real() -> AbstractContextManager[Server]:
    return real(PARTITIONS)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=2, help="runs of each side of a comparison (default 2)")
    parser.add_argument("--real", action="store_true", help="compare with a real Kafka 4.3.1 too")
    options = parser.parse_args()
    print(table(run(options.pairs, with_real=options.real)))


if __name__ == "__main__":
    main()
