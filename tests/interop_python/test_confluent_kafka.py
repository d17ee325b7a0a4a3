"""confluent-kafka (librdkafka), unmodified: every codec, every kind of acknowledgement, assigned partitions."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.interop_python.sample_records import (
    CODECS,
    PARTITIONS,
    TOPIC,
    SampleRecord,
    by_partition,
    sample_records,
)

SECONDS_MAX = 30
ACKS = {
    "0": {"acks": "0"},
    "1": {"acks": "1"},
    "all": {"acks": "all"},
    "idempotent": {"enable.idempotence": True},
}


def next_offsets(consumer: Consumer) -> list[TopicPartition]:
    positions = []
    for partition in range(PARTITIONS):
        _, high = consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), timeout=SECONDS_MAX)
        positions.append(TopicPartition(TOPIC, partition, high))
    return positions


def consumer_on(bootstrap_servers: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "unused",  # librdkafka requires one, also for assigned partitions
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 100,
        }
    )


def read(consumer: Consumer, starts: list[TopicPartition], count: int) -> list[SampleRecord]:
    consumer.assign(starts)
    found: list[SampleRecord] = []
    while len(found) < count:
        messages = consumer.consume(count - len(found), timeout=SECONDS_MAX)
        assert messages, f"{len(found)} of {count} records within {SECONDS_MAX} s"
        for message in messages:
            assert message.error() is None, message.error()
            found.append(
                SampleRecord(
                    partition=message.partition(),
                    timestamp_ms=message.timestamp()[1],
                    key=message.key(),
                    value=message.value(),
                    headers=tuple(message.headers() or ()),
                )
            )
    return found


@pytest.mark.parametrize("acks", ACKS)
@pytest.mark.parametrize("codec", CODECS)
def test_records_are_read_back_as_they_were_sent(bootstrap_servers: str, codec: str, acks: str) -> None:
    consumer = consumer_on(bootstrap_servers)
    starts = next_offsets(consumer)
    errors = []
    producer = Producer(
        {"bootstrap.servers": bootstrap_servers, "compression.type": codec, "linger.ms": 5, **ACKS[acks]}
    )
    records = sample_records()
    for record in records:
        producer.produce(
            TOPIC,
            record.value,
            key=record.key,
            partition=record.partition,
            timestamp=record.timestamp_ms,
            headers=list(record.headers),
            on_delivery=lambda error, _: errors.append(error),
        )
    assert producer.flush(SECONDS_MAX) == 0
    assert errors == [None] * len(records)
    assert by_partition(read(consumer, starts, len(records))) == by_partition(records)
    consumer.close()


def topics_once(admin: AdminClient, name: str, *, there: bool) -> list[str]:
    """The topics in the metadata; a broker may receive a change after the response of the controller."""
    names: list[str] = []
    for _ in range(100):
        names = list(admin.list_topics(timeout=SECONDS_MAX).topics)
        if (name in names) == there:
            break
    return names


def test_topics_are_created_and_deleted(bootstrap_servers: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    admin.create_topics([NewTopic("short-lived", 2, 1)])["short-lived"].result(SECONDS_MAX)
    assert "short-lived" in topics_once(admin, "short-lived", there=True)
    admin.delete_topics(["short-lived"])["short-lived"].result(SECONDS_MAX)
    assert "short-lived" not in topics_once(admin, "short-lived", there=False)
