"""Our producer beside confluent-kafka, aiokafka and kafka-python, against one `broker-sim serve` in another process.

    python -m benchmarks.producer [ROUNDS]

Records of 100 bytes without a key, at each library's own batch size and then at 1 MB; ours with one call per record and
with one call per table. The broker keeps the last 5 MiB of a partition, as in broker_vs_librdkafka_mock. Runs are
interleaved; a ratio is the median over the rounds, so that a slow moment of the machine affects all.
"""

from __future__ import annotations

import statistics
import sys
from typing import TYPE_CHECKING, Final

from benchmarks.broker_vs_librdkafka_mock import KEPT_BY_THE_MOCK, PARTITIONS
from benchmarks.measured_producers import PENDING_MEMORY_BYTES, Measured, Run, measure
from benchmarks.paired_rounds import milliseconds, records_per_second
from benchmarks.result import Result, table
from tests.interop.served_cluster import served_cluster

if TYPE_CHECKING:
    from collections.abc import Sequence

TOPIC: Final = "measured"
MEGABYTE: Final = 1_000_000
# Records per client: slow clients send fewer, because a round would take minutes.
RECORDS: Final = {
    "ours": 300_000,
    "ours-columnar": 1_000_000,
    "confluent-kafka": 500_000,
    "aiokafka": 40_000,
    "kafka-python": 30_000,
}
SYNCHRONOUS_SENDS: Final = 2_000
PENDING_RECORDS: Final = 1_000_000
PENDING_BEYOND_MEMORY_MB: Final = 150
# Records per second of the first client divided by those of the second, and the target.
RATIOS: Final = (("ours", "aiokafka", 3.5), ("ours", "kafka-python", 8.0), ("ours-columnar", "confluent-kafka", 1.3))


def run(rounds: int) -> list[Result]:
    """Run every comparison."""
    results: list[Result] = []
    for batch_bytes, name in ((0, "default batches"), (MEGABYTE, "1 MB batches")):
        measured = interleaved("throughput", RECORDS, batch_bytes, rounds)
        results += [_ratio(measured, name, *which) for which in RATIOS]
        results += [_cost(measured, name, mine) for mine in ("ours", "ours-columnar")]
    return [*results, synchronous(rounds), pending()]


def served() -> list[str]:
    """Return the arguments of `broker-sim serve`."""
    arguments = ["--brokers", "1", "--port", "0", "--topic", f"{TOPIC}:{PARTITIONS}:1"]
    for key, value in KEPT_BY_THE_MOCK.items():
        arguments += ["-o", f"{key}={value}"]
    return arguments


def interleaved(kind: str, records: dict[str, int], batch_bytes: int, rounds: int) -> dict[str, list[Measured]]:
    """Run every client once per round, forwards and backwards in alternation, each round on a new broker."""
    measured: dict[str, list[Measured]] = {client: [] for client in records}
    for number in range(rounds):
        with served_cluster(*served()) as cluster:
            for client in list(records) if number % 2 == 0 else reversed(list(records)):
                client_run = Run(
                    client=client,
                    kind=kind,
                    servers=cluster.bootstrap_servers,
                    topic=TOPIC,
                    records=records[client],
                    batch_bytes=batch_bytes,
                )
                measured[client].append(measure(client_run))
    return measured


def synchronous(rounds: int) -> Result:
    """Send one record at a time with linger.ms=0; the figure is the median of the medians."""
    measured = interleaved("latency", dict.fromkeys(("ours", "confluent-kafka"), SYNCHRONOUS_SENDS), 0, rounds)
    mine, other = measured["ours"], measured["confluent-kafka"]
    return Result(
        name="synchronous send, median, beside confluent-kafka",
        ours=milliseconds(_median([one.figure for one in mine])),
        other=milliseconds(_median([one.figure for one in other])),
        figure=_median([one.figure / two.figure for one, two in zip(mine, other, strict=True)]),
        target=4,
        at_least=False,
        unit="x",
    )


def pending() -> Result:
    """Measure the resident memory beyond buffer.memory with a million records that no broker accepts."""
    with served_cluster(*served()) as cluster:
        client_run = Run(
            client="ours",
            kind="pending",
            servers=cluster.bootstrap_servers,
            topic=TOPIC,
            records=PENDING_RECORDS,
            server_pid=cluster.process.pid,
        )
        figure = measure(client_run).figure
    memory_mb = PENDING_MEMORY_BYTES / (1 << 20)
    return Result(
        name=f"{PENDING_RECORDS:,} records pending, memory beyond buffer.memory",
        ours=f"{figure:.0f} MB in all",
        other=f"buffer.memory {memory_mb:.0f} MB",
        figure=figure - memory_mb,
        target=PENDING_BEYOND_MEMORY_MB,
        at_least=False,
        unit=" MB",
    )


def _ratio(measured: dict[str, list[Measured]], name: str, mine: str, other: str, target: float) -> Result:
    pairs = list(zip(measured[mine], measured[other], strict=True))
    return Result(
        name=f"{name}: {mine} beside {other}",
        ours=records_per_second(_median([one.figure for one, _ in pairs])),
        other=records_per_second(_median([two.figure for _, two in pairs])),
        figure=_median([one.figure / two.figure for one, two in pairs]),
        target=target,
        at_least=True,
        unit="x",
    )


def _cost(measured: dict[str, list[Measured]], name: str, mine: str) -> Result:
    """Compare CPU per record and the largest resident memory with all other clients; the target is aiokafka's CPU."""
    cpu_us = {client: _median([one.cpu_us for one in of_client]) for client, of_client in measured.items()}
    memory_mb = {client: _median([one.memory_mb for one in of_client]) for client, of_client in measured.items()}
    texts = {client: f"{cpu_us[client]:.2f} us, {memory_mb[client]:.0f} MB" for client in measured}
    return Result(
        name=f"{name}: CPU per record and resident memory, {mine}",
        ours=texts[mine],
        other="; ".join(f"{client} {texts[client]}" for client in measured if not client.startswith("ours")),
        figure=cpu_us[mine] / cpu_us["aiokafka"],
        target=1.0,
        at_least=False,
        unit="x",
    )


def _median(figures: Sequence[float]) -> float:
    return statistics.median(figures)


if __name__ == "__main__":
    print(table(run(rounds=int(sys.argv[1]) if len(sys.argv) > 1 else 5)))
