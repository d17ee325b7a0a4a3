"""One confluent-kafka producer in a process of its own: sends, waits for every acknowledgement, prints one number.

    python benchmarks/measured_producer.py throughput BOOTSTRAP_SERVERS TOPIC RECORD_BYTES RECORDS [name=value ...]
    python benchmarks/measured_producer.py latency    BOOTSTRAP_SERVERS TOPIC RECORD_BYTES RECORDS [name=value ...]

`throughput` prints records a second, from the first record to the last acknowledgement; `latency` prints the median
seconds of a synchronous send. A first part, not measured, fetches the metadata and warms both sides up.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from confluent_kafka import Producer

RUN_SECONDS_MAX = 120
WARM_UP_SHARE = 10


def measure(kind: str, bootstrap_servers: str, topic: str, record_bytes: int, records: int, *configs: str) -> float:
    """Run a producer as a process of its own; the number that it printed."""
    arguments = [kind, bootstrap_servers, topic, str(record_bytes), str(records), *configs]
    run = subprocess.run(
        [sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True, check=True, timeout=RUN_SECONDS_MAX
    )
    return float(run.stdout)


def throughput(producer: Producer, topic: str, value: bytes, records: int) -> float:
    """Records a second, acknowledged."""
    started = time.perf_counter()
    for _ in range(records):
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:  # librdkafka's queue is full: acknowledgements make room
                producer.poll(0.1)
    flush(producer)
    return records / (time.perf_counter() - started)


def latency(producer: Producer, topic: str, value: bytes, records: int) -> float:
    """The median seconds from send to acknowledgement, one record at a time."""
    told: list[float] = []
    for _ in range(records):
        started = time.perf_counter()
        producer.produce(topic, value)
        flush(producer)
        told.append(time.perf_counter() - started)
    return statistics.median(told)


def flush(producer: Producer) -> None:
    """Wait for every acknowledgement; what is not acknowledged is no result."""
    if producer.flush(RUN_SECONDS_MAX) != 0:
        raise SystemExit(f"records are not acknowledged within {RUN_SECONDS_MAX} s")


def main() -> None:
    """Measure as the command line says."""
    kind, bootstrap_servers, topic, record_bytes, records, *configs = sys.argv[1:]
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "acks": "all",
            **dict(config.split("=", 1) for config in configs),
        }
    )
    value = bytes(range(256)) * (int(record_bytes) // 256 + 1)
    value = value[: int(record_bytes)]
    measured = throughput if kind == "throughput" else latency
    measured(producer, topic, value, int(records) // WARM_UP_SHARE)
    print(measured(producer, topic, value, int(records)))


if __name__ == "__main__":
    main()
