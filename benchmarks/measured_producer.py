"""confluent-kafka producers in one process, one per server: they alternate, and each round prints one line.

    python benchmarks/measured_producer.py throughput TOPIC RECORD_BYTES RECORDS ROUNDS SERVERS [...] [name=value ...]
    python benchmarks/measured_producer.py latency    TOPIC RECORD_BYTES RECORDS ROUNDS SERVERS [...] [name=value ...]
    python benchmarks/measured_producer.py transactions TOPIC RECORD_BYTES COUNT ROUNDS SERVERS [...] [name=value ...]

`throughput` prints records per second, from the first record to the last acknowledgement; `latency` prints the median
seconds of a synchronous send; `transactions` prints the rate of transactions of ten records in one partition. A line
has the figures of one round, in the order of the servers. A first round, not measured, fetches the metadata and warms
all sides up.

The memory and the processor that a process gets at its start change its speed by a tenth, and so does other work of the
machine: here all sides share both.
"""

from __future__ import annotations

import statistics
import sys
import time

from confluent_kafka import Producer

FLUSH_SECONDS_MAX = 100
RECORDS_PER_TRANSACTION = 10


def throughput(producer: Producer, topic: str, value: bytes, records: int) -> float:
    """Return the acknowledged records per second."""
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
    """Return the median seconds from send to acknowledgement, one record at a time."""
    waits_s: list[float] = []
    for _ in range(records):
        started = time.perf_counter()
        producer.produce(topic, value)
        flush(producer)
        waits_s.append(time.perf_counter() - started)
    return statistics.median(waits_s)


def transactions(producer: Producer, topic: str, value: bytes, count: int) -> float:
    """Return the committed transactions per second."""
    started = time.perf_counter()
    for _ in range(count):
        producer.begin_transaction()
        for _ in range(RECORDS_PER_TRANSACTION):
            producer.produce(topic, value, partition=0)
        producer.commit_transaction(FLUSH_SECONDS_MAX)
    return count / (time.perf_counter() - started)


def flush(producer: Producer) -> None:
    """Wait for every acknowledgement; exit if one is missing, because the figure would be wrong."""
    if producer.flush(FLUSH_SECONDS_MAX) != 0:
        raise SystemExit(f"records are not acknowledged within {FLUSH_SECONDS_MAX} s")


MEASURED = {"throughput": throughput, "latency": latency, "transactions": transactions}


def main() -> None:
    """Measure as the command line requests."""
    kind, topic, record_bytes, records, rounds, *others = sys.argv[1:]
    configs = dict(one.split("=", 1) for one in others if "=" in one)
    all_servers = [one for one in others if "=" not in one]
    if kind == "transactions":
        configs["transactional.id"] = "measured"
    producers = [Producer({"bootstrap.servers": servers, "acks": "all", **configs}) for servers in all_servers]
    for producer in producers if kind == "transactions" else ():
        producer.init_transactions(FLUSH_SECONDS_MAX)
    value = bytes(range(256)) * (int(record_bytes) // 256 + 1)
    value = value[: int(record_bytes)]
    measured = MEASURED[kind]
    for producer in producers:
        measured(producer, topic, value, int(records))
    for _ in range(int(rounds)):
        print(*[measured(producer, topic, value, int(records)) for producer in producers])


if __name__ == "__main__":
    main()
