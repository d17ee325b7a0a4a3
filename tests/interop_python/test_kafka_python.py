"""kafka-python, unmodified: every codec, every kind of acknowledgement, assigned partitions."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from tests.interop_python.sample_records import (
    CODECS,
    PARTITIONS,
    TOPIC,
    SampleRecord,
    by_partition,
    sample_records,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
SECONDS_MAX = 30
ACKS = {
    "0": {"acks": 0, "enable_idempotence": False},
    "1": {"acks": 1, "enable_idempotence": False},
    "all": {"acks": "all", "enable_idempotence": False},
    "idempotent": {"acks": "all", "enable_idempotence": True},
}


@pytest.fixture(autouse=True)
def no_sockets_left() -> Iterator[None]:
    """kafka-python leaves sockets to the garbage collector: to be collected here, not in a later test."""
    yield
    gc.collect()


def read(consumer: KafkaConsumer, count: int) -> list[SampleRecord]:
    found: list[SampleRecord] = []
    while len(found) < count:
        batches = consumer.poll(timeout_ms=1000 * SECONDS_MAX, max_records=count - len(found))
        assert batches, f"{len(found)} of {count} records within {SECONDS_MAX} s"
        found.extend(
            SampleRecord(
                partition=record.partition,
                timestamp_ms=record.timestamp,
                key=record.key,
                value=record.value,
                headers=tuple(record.headers),
            )
            for records in batches.values()
            for record in records
        )
    return found


@pytest.mark.parametrize("acks", ACKS)
@pytest.mark.parametrize("codec", CODECS)
def test_records_are_read_back_as_they_were_sent(bootstrap_servers: str, codec: str, acks: str) -> None:
    partitions = [TopicPartition(TOPIC, partition) for partition in range(PARTITIONS)]
    consumer = KafkaConsumer(bootstrap_servers=bootstrap_servers.split(","), group_id=None, fetch_max_wait_ms=100)
    consumer.assign(partitions)
    for partition, offset in consumer.end_offsets(partitions).items():
        consumer.seek(partition, offset)
    producer = KafkaProducer(
        bootstrap_servers=bootstrap_servers.split(","),
        compression_type=None if codec == "none" else codec,
        linger_ms=5,
        **ACKS[acks],
    )
    records = sample_records()
    deliveries = [
        producer.send(TOPIC, record.value, record.key, list(record.headers), record.partition, record.timestamp_ms)
        for record in records
    ]
    for delivery in deliveries:
        delivery.get(SECONDS_MAX)
    producer.close(SECONDS_MAX)
    assert by_partition(read(consumer, len(records))) == by_partition(records)
    consumer.close()
