"""Records per second of Consumer and of other Python consumers, in turn, from one `broker-sim serve`.

    python benchmarks/consumer.py [RECORD_BYTES [RECORDS [ROUNDS]]]

Each consumer reads one partition from the beginning in a process of its own; a figure is the median of the rounds.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

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


def ours(servers: str, records: int, *, in_columns: bool = False) -> float:
    """Read with Consumer.poll, or with poll_batch."""
    from broker_client import Consumer, TopicPartition

    with Consumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(TOPIC, 0)])
        read = consumer.poll_batch if in_columns else consumer.poll
        return _rate(lambda: len(read(1.0)), records)


def confluent(servers: str, records: int) -> float:
    """Read with confluent-kafka's consume."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": servers, "group.id": "g", "enable.auto.commit": False})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    return _rate(lambda: len(consumer.consume(POLL_RECORDS, 1.0)), records)


async def aiokafka(servers: str, records: int) -> float:
    """Read with aiokafka's getmany."""
    from aiokafka import AIOKafkaConsumer, TopicPartition

    consumer = AIOKafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest")
    await consumer.start()
    consumer.assign([TopicPartition(TOPIC, 0)])

    async def read() -> int:
        found = await consumer.getmany(timeout_ms=1_000, max_records=POLL_RECORDS)
        return sum(map(len, found.values()))

    first = 0
    while first == 0:
        first = await read()
    left = records - first
    started = time.perf_counter()
    while left > 0:
        left -= await read()
    elapsed_s = time.perf_counter() - started
    await consumer.stop()
    return (records - first) / elapsed_s


def _rate(read: Callable[[], int], records: int) -> float:
    """Return the records per second after the first records, which wait for connections."""
    first = 0
    while first == 0:
        first = read()
    left = records - first
    started = time.perf_counter()
    while left > 0:
        left -= read()
    return (records - first) / (time.perf_counter() - started)


def _measure(client: str, servers: str, records: int) -> float:
    if client == "aiokafka":
        return asyncio.run(aiokafka(servers, records))
    if client == "confluent-kafka":
        return confluent(servers, records)
    return ours(servers, records, in_columns=client == "poll_batch")


def _in_process(client: str, servers: str, records: int) -> float:
    command = [sys.executable, __file__, "--measure", client, servers, str(records)]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=RUN_SECONDS_MAX)
    return float(run.stdout)


def run(record_bytes: int = 100, records: int = 200_000, rounds: int = 3) -> list[Result]:
    """Compare all clients with records of one size."""
    clients = ("poll", "aiokafka", "poll_batch", "confluent-kafka")
    figures: dict[str, list[float]] = {client: [] for client in clients}
    with served_cluster("--brokers", "1", "--port", "0", "--topic", f"{TOPIC}:1:1") as cluster:
        fill(cluster.bootstrap_servers, TOPIC, record_bytes, records)
        for _ in range(rounds):
            for client in clients:
                figures[client].append(_in_process(client, cluster.bootstrap_servers, records))
    medians = {client: statistics.median(of_client) for client, of_client in figures.items()}
    return [
        Result(
            name=f"{mine}, {record_bytes} B records, against {other}",
            ours=f"{medians[mine]:,.0f} records/s",
            other=f"{medians[other]:,.0f} records/s",
            figure=medians[mine] / medians[other],
            target=target,
            at_least=True,
            unit="x",
        )
        for mine, other, target in (
            ("poll", "aiokafka", AIOKAFKA_TARGET),
            ("poll_batch", "confluent-kafka", CONFLUENT_TARGET),
        )
    ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(_measure(sys.argv[2], sys.argv[3], int(sys.argv[4])))
    else:
        print(table(run(*map(int, sys.argv[1:]))))
