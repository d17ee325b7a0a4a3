"""Transactions of a confluent-kafka producer against `broker-sim serve` and librdkafka's mock cluster, in memory.

    python benchmarks/transactions.py [--real] [--pairs N]

A transaction has ten records of 100 B in one partition. The mock writes no log of transactions and no markers. `--real`
compares with a real Kafka 4.3.1 too. The last row reads the same log with both isolation levels.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.broker_vs_librdkafka_mock import TOPIC
from benchmarks.librdkafka_mock import Server, librdkafka_mock
from benchmarks.measured_consumer import fill
from benchmarks.measured_process import measure
from benchmarks.paired_rounds import ORDERS, PairedRounds
from benchmarks.process_usage import cpu_seconds
from benchmarks.result import table
from tests.interop.real_kafka import AS_SHIPPED, real_kafka
from tests.interop.served_cluster import served_cluster
from tests.interop.servers import create_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from benchmarks.result import Result

RELEASE: Final = "4.3.1"
COUNT: Final = 250
ROUNDS: Final = 4
READ_ROUNDS: Final = 12
LEVELS: Final = ("read_committed", "read_uncommitted")
RECORD_BYTES: Final = 100
READ_RECORDS: Final = 120_000
MOCK_TARGET: Final = 0.8
REAL_TARGET: Final = 5.0
COMMITTED_TARGET: Final = 0.9
ARGUMENTS: Final = ("--brokers", "1", "--port", "0", "--topic", f"{TOPIC}:1:1")


@contextlib.contextmanager
def real(partitions: int = 1) -> Iterator[Server]:
    """Start a real broker with the measured topic."""
    with real_kafka(RELEASE, jvm=AS_SHIPPED) as kafka:
        create_topic(kafka.bootstrap_servers, TOPIC, partitions)
        yield Server(kafka.bootstrap_servers, kafka.pid_of(1))


def run(pairs: int, *, with_real: bool = False) -> list[Result]:
    """Measure transactions against the mock, and reads with both isolation levels."""
    results = [compare(pairs, librdkafka_mock, "librdkafka's mock", MOCK_TARGET)]
    if with_real:
        results.append(compare(pairs, real, f"Kafka {RELEASE}", REAL_TARGET))
    return [*results, isolation_levels(pairs)]


def compare(pairs: int, other: Callable[[], AbstractContextManager[Server]], name: str, target: float) -> Result:
    """Measure transactions with `pairs` pairs of servers."""
    rounds = PairedRounds()
    for _ in range(pairs):
        for order in ORDERS:
            with served_cluster(*ARGUMENTS) as cluster, other() as peer:
                servers = [cluster.bootstrap_servers, peer.bootstrap_servers]
                before = [cpu_seconds(pid) for pid in (cluster.process.pid, peer.pid)]
                arguments = ("transactions", servers[::order], TOPIC, RECORD_BYTES, COUNT)
                rounds.add(order, measure("measured_producer", *arguments, "linger.ms=0", rounds=ROUNDS))
                after = [cpu_seconds(pid) for pid in (cluster.process.pid, peer.pid)]
                done = COUNT * (ROUNDS + 1)
                rounds.add_cpu(*((end - start) / done * 1e6 for start, end in zip(before, after, strict=True)))
    return rounds.result(
        f"transactions of 10 records, against {name}", target=target, is_time=False, cpu_unit="transaction"
    )


def isolation_levels(pairs: int) -> Result:
    """Compare the consumption of records with read_committed and with read_uncommitted."""
    rounds = PairedRounds()
    for _ in range(pairs):
        for order in ORDERS:
            with served_cluster(*ARGUMENTS) as cluster:
                # Both in one process: two processes differ by more than the isolation levels.
                fill(cluster.bootstrap_servers, TOPIC, RECORD_BYTES, READ_RECORDS)
                sides = [f"{cluster.bootstrap_servers}+isolation.level={level}" for level in LEVELS[::order]]
                arguments = ("consume", sides, TOPIC, RECORD_BYTES, READ_RECORDS)
                rounds.add(order, measure("measured_consumer", *arguments, rounds=READ_ROUNDS))
                rounds.add_cpu(0.0, 0.0)
    return rounds.result(
        "consume read_committed, against read_uncommitted", target=COMMITTED_TARGET, is_time=False, cpu_unit="record"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=3, help="runs of each side of a comparison (default 3)")
    parser.add_argument("--real", action="store_true", help="compare with a real Kafka 4.3.1 too")
    options = parser.parse_args()
    print(table(run(options.pairs, with_real=options.real)))


if __name__ == "__main__":
    main()
