"""One producer of any library in a process of its own: sends, waits for every acknowledgement, prints its figures.

    python benchmarks/measured_producers.py CLIENT KIND BOOTSTRAP_SERVERS TOPIC RECORDS BATCH_BYTES [SERVER_PID]

CLIENT is ours, ours-columnar, confluent-kafka, aiokafka or kafka-python. KIND `throughput` prints records per second
from the first record to the last acknowledgement, `latency` the median seconds of a synchronous send without lingering;
`pending` (ours) stops the server's process while it sends, so that every record is kept, and prints the resident MB
with all of them. Each also prints the microseconds of CPU per record and the largest resident memory in MB. A first
part warms both sides up. Records have no key and 100 bytes; BATCH_BYTES 0 leaves each library its own batch size.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

sys.path.insert(0, str(Path(__file__).parents[1] / "client"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.process_usage import peak_memory_mb

if TYPE_CHECKING:
    from collections.abc import Callable

    # One function sends that many records and waits for them, the other sends one record and waits.
    Senders: TypeAlias = tuple[Callable[[int], None], Callable[[], object]]

RECORD_BYTES: Final = 100
VALUE: Final = bytes(range(RECORD_BYTES))
RUN_SECONDS_MAX: Final = 120
WARM_UP_SHARE: Final = 10
QUEUE_RECORDS_MAX: Final = 1_000_000
TABLE_ROWS: Final = 50_000
PENDING_MEMORY_BYTES: Final = 128 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The figures of one run of one client."""

    figure: float
    cpu_us: float
    memory_mb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The parameters of one run."""

    client: str
    kind: str
    servers: str
    topic: str
    records: int
    batch_bytes: int = 0
    server_pid: int = 0

    def arguments(self) -> list[str]:
        """Return the arguments of the command line."""
        numbers = [self.records, self.batch_bytes, self.server_pid]
        return [self.client, self.kind, self.servers, self.topic, *map(str, numbers)]

    def configs(self, batch_key: str, linger_key: str) -> dict[str, Any]:
        """Return the client's configurations under its own names."""
        configs: dict[str, Any] = {batch_key: self.batch_bytes} if self.batch_bytes else {}
        if self.kind == "latency":
            configs[linger_key] = 0
        return configs


def measure(run: Run) -> Measured:
    """Run a client in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, *run.arguments()],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=RUN_SECONDS_MAX,
    )
    figure, cpu_us, memory_mb = map(float, done.stdout.split())
    return Measured(figure=figure, cpu_us=cpu_us, memory_mb=memory_mb)


def ours(run: Run) -> Senders:
    """One call per record."""
    from broker_client import Producer

    producer = Producer({"bootstrap.servers": run.servers, **run.configs("batch.size", "linger.ms")})

    def send(records: int) -> None:
        futures = [producer.send(run.topic, VALUE) for _ in range(records)]
        producer.flush()
        assert all(future.exception(0) is None for future in futures)

    return send, lambda: producer.send(run.topic, VALUE).result(RUN_SECONDS_MAX)


def ours_columnar(run: Run) -> Senders:
    """One call per Arrow table of TABLE_ROWS rows; the tables are made in advance."""
    import pyarrow as pa

    from broker_client import Producer

    producer = Producer({"bootstrap.servers": run.servers, **run.configs("batch.size", "linger.ms")})
    table = pa.table({"value": pa.array([VALUE] * TABLE_ROWS, pa.binary())})

    def send(records: int) -> None:
        futures = [
            producer.send_batch(run.topic, table.slice(0, min(TABLE_ROWS, records - first)))
            for first in range(0, records, TABLE_ROWS)
        ]
        for future in futures:
            outcomes = future.result(RUN_SECONDS_MAX)
            assert outcomes["error"].null_count == len(outcomes)

    return send, lambda: producer.send_batch(run.topic, table.slice(0, 1)).result(RUN_SECONDS_MAX)


def confluent(run: Run) -> Senders:
    """confluent-kafka; the delivery callback records failures, as the future of each record does elsewhere."""
    from confluent_kafka import Producer

    configs = {"bootstrap.servers": run.servers, "queue.buffering.max.messages": QUEUE_RECORDS_MAX}
    producer = Producer(configs | run.configs("batch.size", "linger.ms"))
    failed: list[object] = []

    def delivered(error: object, _: object) -> None:
        if error is not None:
            failed.append(error)

    def produce() -> None:
        while True:
            try:
                producer.produce(run.topic, VALUE, on_delivery=delivered)
            except BufferError:
                producer.poll(0.1)
            else:
                return

    def send(records: int) -> None:
        for _ in range(records):
            produce()
        assert producer.flush(RUN_SECONDS_MAX) == 0
        assert not failed, failed[0]

    def send_one() -> None:
        produce()
        assert producer.flush(RUN_SECONDS_MAX) == 0

    return send, send_one


def kafka_python(run: Run) -> Senders:
    """kafka-python."""
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=run.servers, acks="all", **run.configs("batch_size", "linger_ms"))

    def send(records: int) -> None:
        futures = [producer.send(run.topic, VALUE) for _ in range(records)]
        producer.flush(RUN_SECONDS_MAX)
        assert all(future.succeeded() for future in futures)

    return send, lambda: producer.send(run.topic, VALUE).get(RUN_SECONDS_MAX)


BLOCKING: Final = {
    "ours": ours,
    "ours-columnar": ours_columnar,
    "confluent-kafka": confluent,
    "kafka-python": kafka_python,
}


async def aiokafka(run: Run) -> tuple[float, float]:
    """Run aiokafka in a coroutine; return the figure and the CPU seconds of the measured part."""
    from aiokafka import AIOKafkaProducer

    producer = AIOKafkaProducer(bootstrap_servers=run.servers, acks="all", **run.configs("max_batch_size", "linger_ms"))
    await producer.start()

    async def send(count: int) -> None:
        futures = [await producer.send(run.topic, VALUE) for _ in range(count)]
        await asyncio.gather(*futures)

    try:
        await send(run.records // WARM_UP_SHARE)
        cpu = time.process_time()
        if run.kind == "throughput":
            started = time.perf_counter()
            await send(run.records)
            return run.records / (time.perf_counter() - started), time.process_time() - cpu
        waits_s = []
        for _ in range(run.records):
            started = time.perf_counter()
            await producer.send_and_wait(run.topic, VALUE)
            waits_s.append(time.perf_counter() - started)
        return statistics.median(waits_s), time.process_time() - cpu
    finally:
        await producer.stop()


def blocking(run: Run) -> tuple[float, float]:
    """Run a client whose calls block; return the figure and the CPU seconds of the measured part."""
    send, send_one = BLOCKING[run.client](run)
    send(run.records // WARM_UP_SHARE)
    cpu = time.process_time()
    if run.kind == "throughput":
        started = time.perf_counter()
        send(run.records)
        return run.records / (time.perf_counter() - started), time.process_time() - cpu
    waits_s = []
    for _ in range(run.records):
        started = time.perf_counter()
        send_one()
        waits_s.append(time.perf_counter() - started)
    return statistics.median(waits_s), time.process_time() - cpu


def pending(run: Run) -> tuple[float, float]:
    """Keep distinct records and their futures, none acknowledged; return the resident MB with all of them."""
    from broker_client import Producer

    configs = {"buffer.memory": PENDING_MEMORY_BYTES, **run.configs("batch.size", "linger.ms")}
    with Producer({"bootstrap.servers": run.servers, **configs}) as producer:
        producer.send(run.topic, VALUE).result(RUN_SECONDS_MAX)
        cpu = time.process_time()
        os.kill(run.server_pid, signal.SIGSTOP)
        try:
            futures = [producer.send(run.topic, b"%0*d" % (RECORD_BYTES, number)) for number in range(run.records)]
            taken = time.process_time() - cpu
            assert producer.unacknowledged_records() == run.records
            pages = int(Path("/proc/self/statm").read_text().split()[1])
        finally:
            os.kill(run.server_pid, signal.SIGCONT)
        producer.flush(RUN_SECONDS_MAX)
        assert all(future.exception(0) is None for future in futures)
    return pages * resource.getpagesize() / (1 << 20), taken


def main() -> None:
    """Measure as the command line requests."""
    client, kind, servers, topic, records, *numbers = sys.argv[1:]
    batch_bytes, server_pid = [*map(int, numbers), 0, 0][:2]
    run = Run(
        client=client,
        kind=kind,
        servers=servers,
        topic=topic,
        records=int(records),
        batch_bytes=batch_bytes,
        server_pid=server_pid,
    )
    if kind == "pending":
        figure, cpu_s = pending(run)
    else:
        figure, cpu_s = asyncio.run(aiokafka(run)) if client == "aiokafka" else blocking(run)
    memory_mb = peak_memory_mb(os.getpid())  # ru_maxrss begins with the memory of the parent process
    print(figure, cpu_s / run.records * 1e6, memory_mb)


if __name__ == "__main__":
    main()
