"""The clients of the soak, in a process of their own: a producer, and a consumer of every partition.

    python benchmarks/soak_clients.py BOOTSTRAP_SERVERS

They run until stdin receives a line. Then the producer flushes, the consumer reads until it has every acknowledged
record, and the program prints how many records were sent, acknowledged and read, and each problem. Records are numbered
per partition, so that the consumer detects a number that is missing, repeated or late. Exit status 1 reports a problem.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

TOPIC: Final = "soak"
PARTITIONS: Final = 6
RECORDS_PER_SECOND: Final = 3_000
VALUE_BYTES: Final = 200
TICK_SECONDS: Final = 0.01
READ_ON_SECONDS_MAX: Final = 60
FLUSH_SECONDS_MAX: Final = 60
PROBLEMS_MAX: Final = 20
CRITICAL: Final = 2
"""The syslog level: below it librdkafka logs each lost connection, and here the faults cause them."""


class Clients:
    """Producer and consumer, with their counters per partition."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.sent = [0] * PARTITIONS
        self.acked = [0] * PARTITIONS
        self.read = [0] * PARTITIONS
        self.problems: list[str] = []
        self.ending = threading.Event()
        self.flushed = threading.Event()

    def produce(self) -> None:
        """Send at a steady rate until the end; each record that is not acknowledged is a problem."""
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "log_level": CRITICAL,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 5,
                "delivery.timeout.ms": 60_000,
            }
        )
        filler = b"." * VALUE_BYTES
        partition = 0
        while not self.ending.wait(TICK_SECONDS):
            for _ in range(round(RECORDS_PER_SECOND * TICK_SECONDS)):
                number = self.sent[partition]
                self.sent[partition] += 1
                producer.produce(TOPIC, b"%d" % number + filler, partition=partition, on_delivery=self._delivered)
                partition = (partition + 1) % PARTITIONS
            producer.poll(0)
        if left := producer.flush(FLUSH_SECONDS_MAX):
            self._problem(f"{left} records have no outcome")
        self.flushed.set()

    def consume(self) -> None:
        """Read from the start, and after the end until every acknowledged record is read."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "log_level": CRITICAL,
                "group.id": "unused",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
            }
        )
        consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)])
        deadline = float("inf")
        while not (self.flushed.is_set() and self.read >= self.acked):
            if self.flushed.is_set() and deadline == float("inf"):
                deadline = time.monotonic() + READ_ON_SECONDS_MAX
            if time.monotonic() > deadline:
                self._problem(f"acknowledged {self.acked}, read {self.read}")
                break
            for message in consumer.consume(1_000, 0.1):
                self._take(message)
        consumer.close()

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._problem(f"a record of partition {message.partition()} is not acknowledged: {error}")
        else:
            self.acked[message.partition() or 0] += 1

    def _take(self, message: Message) -> None:
        error = message.error()
        if error is not None:
            if not error.retriable() and error.code() != KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 - its name
                self._problem(f"the consumer: {error}")
            return
        partition = message.partition() or 0
        number = int((message.value() or b"").rstrip(b"."))
        if number != self.read[partition]:
            self._problem(
                f"partition {partition}, offset {message.offset()}: {number} instead of {self.read[partition]}"
            )
        self.read[partition] = number + 1

    def _problem(self, text: str) -> None:
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.append(text)


def main() -> int:
    """Run until stdin receives a line, then print the outcome."""
    clients = Clients(sys.argv[1])
    threads = [threading.Thread(target=work) for work in (clients.produce, clients.consume)]
    for thread in threads:
        thread.start()
    sys.stdin.readline()
    clients.ending.set()
    for thread in threads:
        thread.join()
    print(f"records: sent {sum(clients.sent):,}, acknowledged {sum(clients.acked):,}, read {sum(clients.read):,}")
    for problem in clients.problems:
        print("problem:", problem)
    return 1 if clients.problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KafkaException as error:
        sys.exit(str(error))
