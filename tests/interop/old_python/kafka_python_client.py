"""kafka-python of another time: what OldProducer.java and OldConsumer.java do, in one. Arguments: servers, topic,
number of partitions, codecs (comma-separated), api_version (0.10.2). Prints "ready", and "sent" or "read" a value."""

import sys
import time

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

RECORDS = 60
SECONDS_MAX = 30


def main(servers, topic, partitions, codecs, version):
    settings = {"bootstrap_servers": servers.split(","), "api_version": tuple(map(int, version.split(".")))}
    partitions = int(partitions)
    sent = 0
    for codec in codecs.split(","):
        sent += produce(settings, topic, partitions, codec, codec, 0)
    print("ready", flush=True)
    sent += produce(settings, topic, partitions, "none", "moved", 0.02)
    consumer = KafkaConsumer(group_id=None, auto_offset_reset="earliest", enable_auto_commit=False, **settings)
    assigned = [TopicPartition(topic, index) for index in range(partitions)]
    consumer.assign(assigned)
    for partition in assigned:
        consumer.seek(partition, 0)
    deadline = time.time() + SECONDS_MAX
    while sent and time.time() < deadline:
        for records in consumer.poll(timeout_ms=200).values():
            for record in records:
                print("read", record.value.decode())
                sent -= 1
    consumer.close()


def produce(settings, topic, partitions, codec, name, pause):
    producer = KafkaProducer(
        compression_type=None if codec == "none" else codec, acks=-1, retries=1000, retry_backoff_ms=50, **settings
    )
    told = []
    for number in range(RECORDS):
        value = f"{name}-{number}-{'x' * 100}"
        told.append((producer.send(topic, value.encode(), partition=number % partitions), value))
        if pause:
            told[-1][0].get(SECONDS_MAX)
            time.sleep(pause)
    for future, value in told:
        future.get(SECONDS_MAX)
        print("sent", value)
    producer.close(SECONDS_MAX)
    return len(told)


main(*sys.argv[1:])
