"""confluent-kafka of another time: what kafka_python_client.py does. Arguments: servers, topic, number of partitions,
codecs (comma-separated), broker.version.fallback (for brokers without ApiVersions, else empty)."""

import sys
import threading
import time

from confluent_kafka import Consumer, Producer, TopicPartition

RECORDS = 60
SECONDS_MAX = 30


def main(servers, topic, partitions, codecs, fallback):
    dead = threading.Event()
    threading.Thread(target=lambda: sys.stdin.readline() and dead.set(), daemon=True).start()
    settings = {"bootstrap.servers": servers, "log_level": 3}
    if fallback:
        settings.update({"api.version.request": "false", "broker.version.fallback": fallback})
    partitions = int(partitions)
    sent = 0
    for codec in codecs.split(","):
        sent += Sender(settings, topic, partitions, codec, codec).send_at_once(range(RECORDS))
    moved = Sender(settings, topic, partitions, "none", "moved")
    sent += moved.send_one_by_one(range(RECORDS // 3))
    print("ready", flush=True)
    sent += moved.send_at_once(range(RECORDS // 3, 2 * RECORDS // 3))
    if not dead.wait(SECONDS_MAX):
        sys.exit(f"no notice of the leader's death within {SECONDS_MAX} s")
    sent += moved.send_one_by_one(range(2 * RECORDS // 3, RECORDS))
    read(settings, topic, partitions, sent)


def read(settings, topic, partitions, records):
    consumer = Consumer(dict(settings, **{"group.id": "unused", "enable.auto.commit": False}))
    consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    deadline = time.time() + SECONDS_MAX
    # A record that was sent again when the leader died is stored twice, and counts once.
    values = set()
    while len(values) < records and time.time() < deadline:
        message = consumer.poll(0.2)
        if message is not None and not message.error():
            print("read", message.value().decode())
            values.add(message.value())
    consumer.close()


class Sender:
    def __init__(self, settings, topic, partitions, codec, name):
        self.producer = Producer(
            dict(settings, **{"compression.type": codec, "retries": 1000, "retry.backoff.ms": 50, "linger.ms": 5})
        )
        self.topic, self.partitions, self.name = topic, partitions, name
        self.acknowledged_count = 0

    def send_at_once(self, numbers):
        before = self.acknowledged_count
        for number in numbers:
            value = f"{self.name}-{number}-{'x' * 100}"
            self.producer.produce(
                self.topic, value.encode(), partition=number % self.partitions, on_delivery=self.delivered
            )
        self.producer.flush(SECONDS_MAX)
        return self.acknowledged_count - before

    def send_one_by_one(self, numbers):
        return sum(self.send_at_once([number]) for number in numbers)

    def delivered(self, error, message):
        if error is None:
            print("sent", message.value().decode())
            self.acknowledged_count += 1
        else:
            print("lost", error)


main(*sys.argv[1:])
