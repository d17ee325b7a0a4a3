"""confluent-kafka of another time: what kafka_python_client.py does. Arguments: servers, topic, number of partitions,
codecs (comma-separated), broker.version.fallback (for brokers without ApiVersions, else empty)."""

import sys
import time

from confluent_kafka import Consumer, Producer, TopicPartition

RECORDS = 60
SECONDS_MAX = 30


def main(servers, topic, partitions, codecs, fallback):
    settings = {"bootstrap.servers": servers, "log_level": 3}
    if fallback:
        settings.update({"api.version.request": "false", "broker.version.fallback": fallback})
    partitions = int(partitions)
    sent = 0
    for codec in codecs.split(","):
        sent += produce(settings, topic, partitions, codec, codec, 0)
    print("ready", flush=True)
    sent += produce(settings, topic, partitions, "none", "moved", 0.02)
    consumer = Consumer(dict(settings, **{"group.id": "unused", "enable.auto.commit": False}))
    consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    deadline = time.time() + SECONDS_MAX
    while sent and time.time() < deadline:
        message = consumer.poll(0.2)
        if message is not None and not message.error():
            print("read", message.value().decode())
            sent -= 1
    consumer.close()


def produce(settings, topic, partitions, codec, name, pause):
    producer = Producer(dict(settings, **{"compression.type": codec, "retries": 1000, "retry.backoff.ms": 50}))
    told = []

    def delivered(error, message):
        if error is None:
            print("sent", message.value().decode())
            told.append(message)
        else:
            print("lost", error)

    for number in range(RECORDS):
        value = f"{name}-{number}-{'x' * 100}"
        producer.produce(topic, value.encode(), partition=number % partitions, on_delivery=delivered)
        if pause:
            producer.flush(SECONDS_MAX)
            time.sleep(pause)
    producer.flush(SECONDS_MAX)
    return len(told)


main(*sys.argv[1:])
