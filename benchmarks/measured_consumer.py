"""confluent-kafka consumers in one process, one per SERVERS: they alternate, and each round prints one line.

    python benchmarks/measured_consumer.py consume TOPIC RECORD_BYTES RECORDS ROUNDS SERVERS [...] [name=value ...]
    python benchmarks/measured_consumer.py commit  TOPIC RECORD_BYTES COMMITS ROUNDS SERVERS [...] [name=value ...]

`consume` prints records per second: each round reads all records of the topic (`fill`) from the beginning of all
partitions. `commit` prints the median seconds of a synchronous OffsetCommit of one partition. A first round, not
measured, warms all sides up. SERVERS may end with `+name=value`, a configuration of that consumer alone.
"""

from __future__ import annotations

import statistics
import sys
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

CHUNK = 10_000
FLUSH_SECONDS_MAX = 100
# The last fetch of a round waits at the end of the log, and the first one of the next round waits for it.
DEFAULTS = {"group.id": "measured", "enable.auto.commit": False, "fetch.wait.max.ms": 10}


def fill(servers: str, topic: str, record_bytes: int, records: int) -> None:
    """Write the records that are consumed."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 20, "queue.buffering.max.messages": 1_000_000})
    value = (bytes(range(256)) * (record_bytes // 256 + 1))[:record_bytes]
    partitions = len(producer.list_topics(topic, timeout=10).topics[topic].partitions)
    for number in range(records):
        producer.produce(topic, value, partition=number % partitions)
    if producer.flush(FLUSH_SECONDS_MAX) != 0:
        raise SystemExit(f"records are not acknowledged within {FLUSH_SECONDS_MAX} s")


def consume(consumer: Consumer, topic: str, records: int) -> float:
    """Return the records per second of a read from the beginning."""
    partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    started = time.perf_counter()
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
    left = records
    while left > 0:
        messages = consumer.consume(min(CHUNK, left), timeout=10)
        if not messages:
            raise SystemExit(f"{left} records of {records} did not come within 10 s")
        left -= len(messages)
    elapsed_s = time.perf_counter() - started
    consumer.unassign()
    return records / elapsed_s


def commit(consumer: Consumer, topic: str, commits: int) -> float:
    """Return the median seconds of a synchronous commit."""
    waits_s: list[float] = []
    for number in range(commits):
        started = time.perf_counter()
        consumer.commit(offsets=[TopicPartition(topic, 0, number)], asynchronous=False)
        waits_s.append(time.perf_counter() - started)
    return statistics.median(waits_s)


def main() -> None:
    """Measure as the command line requests."""
    kind, topic, _, count, rounds, *others = sys.argv[1:]
    configs = dict(one.split("=", 1) for one in others if "+" not in one and "=" in one)
    sides = [one.partition("+") for one in others if "+" in one or "=" not in one]
    consumers = []
    for servers, _, own in sides:
        name, _, value = own.partition("=")
        all_configs = {**DEFAULTS, **configs, **({name: value} if own else {})}
        consumers.append(Consumer({"bootstrap.servers": servers, **all_configs}))
    measured = consume if kind == "consume" else commit
    for consumer in consumers:
        measured(consumer, topic, int(count))
    for _ in range(int(rounds)):
        print(*[measured(consumer, topic, int(count)) for consumer in consumers])
    for consumer in consumers:
        consumer.close()


if __name__ == "__main__":
    main()
