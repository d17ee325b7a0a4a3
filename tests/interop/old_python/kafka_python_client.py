"""kafka-python of another time: what OldProducer.java and OldConsumer.java do, in one. Arguments: servers, topic,
number of partitions, codecs (comma-separated), api_version (0.10.2). Prints "sent" or "read" and a value; a third of
its last records are in flight when it prints "ready", and it waits for a line after the leader's death."""

import sys
import threading
import time

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

RECORDS = 60
SECONDS_MAX = 30


def main(servers, topic, partitions, codecs, version):
    dead = threading.Event()
    threading.Thread(target=lambda: sys.stdin.readline() and dead.set(), daemon=True).start()
    settings = {"bootstrap_servers": servers.split(","), "api_version": tuple(map(int, version.split(".")))}
    partitions = int(partitions)
    sent = 0
    for codec in codecs.split(","):
        with_codec = Sender(settings, topic, partitions, codec, codec)
        sent += with_codec.send_at_once(range(RECORDS))
        with_codec.close()
    moved = Sender(settings, topic, partitions, "none", "moved")
    sent += moved.send_one_by_one(range(RECORDS // 3))
    print("ready", flush=True)
    sent += moved.send_at_once(range(RECORDS // 3, 2 * RECORDS // 3))
    if not dead.wait(SECONDS_MAX):
        sys.exit(f"no notice of the leader's death within {SECONDS_MAX} s")
    sent += moved.send_one_by_one(range(2 * RECORDS // 3, RECORDS))
    moved.close()
    read(settings, topic, partitions, sent)


def read(settings, topic, partitions, records):
    consumer = KafkaConsumer(group_id=None, auto_offset_reset="earliest", enable_auto_commit=False, **settings)
    assigned = [TopicPartition(topic, index) for index in range(partitions)]
    consumer.assign(assigned)
    for partition in assigned:
        consumer.seek(partition, 0)
    deadline = time.time() + SECONDS_MAX
    # A record that was sent again when the leader died is stored twice, and counts once.
    values = set()
    while len(values) < records and time.time() < deadline:
        for found in consumer.poll(timeout_ms=200).values():
            for record in found:
                print("read", record.value.decode())
                values.add(record.value)
    consumer.close()


class Sender:
    def __init__(self, settings, topic, partitions, codec, name):
        self.producer = KafkaProducer(
            compression_type=None if codec == "none" else codec, acks=-1, retries=1000, retry_backoff_ms=50, **settings
        )
        self.topic, self.partitions, self.name = topic, partitions, name

    def send(self, number):
        value = f"{self.name}-{number}-{'x' * 100}"
        return self.producer.send(self.topic, value.encode(), partition=number % self.partitions), value

    def send_at_once(self, numbers):
        for future, value in [self.send(number) for number in numbers]:
            future.get(SECONDS_MAX)
            print("sent", value)
        return len(numbers)

    def send_one_by_one(self, numbers):
        return sum(self.send_at_once([number]) for number in numbers)

    def close(self):
        self.producer.close(SECONDS_MAX)


main(*sys.argv[1:])
