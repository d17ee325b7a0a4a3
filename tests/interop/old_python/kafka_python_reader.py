"""A consumer of kafka-python of another time: reads so many records of a partition from its start, prints their values.
Arguments: servers, topic, number of records, api_version (0.8.2)."""

import sys
import time

from kafka import KafkaConsumer, TopicPartition

SECONDS_MAX = 30


def main(servers, topic, records, version):
    consumer = KafkaConsumer(
        bootstrap_servers=servers.split(","),
        api_version=tuple(map(int, version.split("."))),
        group_id=None,
        enable_auto_commit=False,
    )
    partition = TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek(partition, 0)
    missing, deadline = int(records), time.time() + SECONDS_MAX
    while missing > 0 and time.time() < deadline:
        for record in consumer.poll(timeout_ms=200).get(partition, ()):
            print("read", record.value.decode())
            missing -= 1
    consumer.close()


main(*sys.argv[1:])
