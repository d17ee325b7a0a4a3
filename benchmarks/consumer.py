"""Records per second of Consumer and of other Python consumers, in turn, from one `broker-sim serve`.

    python benchmarks/consumer.py [RECORD_BYTES [RECORDS [ROUNDS]]]

Each consumer reads one partition from the beginning in a process of its own, and looks at the value of every record; of
a table it looks at the column. Connections and first records are not measured. A figure is the median of the rounds:
records per second, and microseconds of CPU time per record, which depend less on what else the machine does.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.measured_consumer import fill
from benchmarks.result import Result, table
from tests.interop.served_cluster import served_cluster

if TYPE_CHECKING:
    from collections.abc import Callable

TOPIC: Final = "consumed"
RUN_SECONDS_MAX: Final = 120
POLL_RECORDS: Final = 500
AIOKAFKA_TARGET: Final = 1.5
CONFLUENT_TARGET: Final = 1.0


class Figures(NamedTuple):
    """The speed of one consumer."""

    records_per_s: float
    cpu_us: float
    """User and system time of the process per record."""


class _Stopwatch:
    """Measures from the first records on."""

    def __init__(self, records: int, first: int) -> None:
        self._records = records - first
        self._started = time.perf_counter(), time.process_time()

    def figures(self) -> Figures:
        elapsed_s = time.perf_counter() - self._started[0]
        cpu_s = time.process_time() - self._started[1]
        return Figures(self._records / elapsed_s, cpu_s / self._records * 1e6)


def ours(servers: str, records: int, *, in_columns: bool = False) -> Figures:
    """Read with Consumer.poll, or with poll_batch."""
    from broker_client import Consumer, TopicPartition

    def values() -> int:
        read = consumer.poll(1.0)
        for record in read:
            record.value  # noqa: B018 - what a program does at least
        return len(read)

    def column() -> int:
        return len(consumer.poll_batch(1.0)["value"])

    with Consumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(TOPIC, 0)])
        return _figures(column if in_columns else values, records)


def confluent(servers: str, records: int) -> Figures:
    """Read with confluent-kafka's consume."""
    from confluent_kafka import Consumer, TopicPartition

    def values() -> int:
        read = consumer.consume(POLL_RECORDS, 1.0)
        for message in read:
            message.value()
        return len(read)

    consumer = Consumer({"bootstrap.servers": servers, "group.id": "g", "enable.auto.commit": False})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    return _figures(values, records)


async def aiokafka(servers: str, records: int) -> Figures:
    """Read with aiokafka's getmany."""
    from aiokafka import AIOKafkaConsumer, TopicPartition

    consumer = AIOKafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest")
    await consumer.start()
    consumer.assign([TopicPartition(TOPIC, 0)])

    async def values() -> int:
        found = await consumer.getmany(timeout_ms=1_000, max_records=POLL_RECORDS)
        for of_partition in found.values():
            for record in of_partition:
                record.value  # noqa: B018 - as above
        return sum(map(len, found.values()))

    first = 0
    while first == 0:
        first = await values()
    left = records - first
    watch = _Stopwatch(records, first)
    while left > 0:
        left -= await values()
    figures = watch.figures()
    await consumer.stop()
    return figures


def _figures(read: Callable[[], int], records: int) -> Figures:
    first = 0
    while first == 0:
        first = read()
    left = records - first
    watch = _Stopwatch(records, first)
    while left > 0:
        left -= read()
    return watch.figures()


def _measure(client: str, servers: str, records: int) -> Figures:
    if client == "aiokafka":
        return asyncio.run(aiokafka(servers, records))
    if client == "confluent-kafka":
        return confluent(servers, records)
    return ours(servers, records, in_columns=client == "poll_batch")


def _in_process(client: str, servers: str, records: int) -> Figures:
    command = [sys.executable, __file__, "--measure", client, servers, str(records)]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=RUN_SECONDS_MAX)
    return Figures(*map(float, run.stdout.split()))


def run(record_bytes: int = 100, records: int = 200_000, rounds: int = 5) -> list[Result]:
    """Compare all clients with records of one size."""
    clients = ("poll", "aiokafka", "poll_batch", "confluent-kafka")
    figures: dict[str, list[Figures]] = {client: [] for client in clients}
    with served_cluster("--brokers", "1", "--port", "0", "--topic", f"{TOPIC}:1:1") as cluster:
        fill(cluster.bootstrap_servers, TOPIC, record_bytes, records)
        for _ in range(rounds):
            for client in clients:
                figures[client].append(_in_process(client, cluster.bootstrap_servers, records))
    return [
        result
        for mine, other, target in (
            ("poll", "aiokafka", AIOKAFKA_TARGET),
            ("poll_batch", "confluent-kafka", CONFLUENT_TARGET),
        )
        for result in _results(
            f"{mine}, {record_bytes} B records, against {other}", figures[mine], figures[other], target
        )
    ]


def _results(name: str, mine: list[Figures], others: list[Figures], target: float) -> list[Result]:
    rate, other_rate = (statistics.median(one.records_per_s for one in figures) for figures in (mine, others))
    cpu, other_cpu = (statistics.median(one.cpu_us for one in figures) for figures in (mine, others))
    return [
        Result(
            name=name,
            ours=f"{rate:,.0f} records/s",
            other=f"{other_rate:,.0f} records/s",
            figure=rate / other_rate,
            target=target,
            at_least=True,
            unit="x",
        ),
        Result(
            name=f"{name}, CPU",
            ours=f"{cpu:.2f} us/record",
            other=f"{other_cpu:.2f} us/record",
            figure=other_cpu / cpu,
            target=target,
            at_least=True,
            unit="x",
        ),
    ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(*_measure(sys.argv[2], sys.argv[3], int(sys.argv[4])))
    else:
        print(table(run(*map(int, sys.argv[1:]))))
