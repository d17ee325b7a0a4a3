"""aiokafka, unmodified: every codec, every kind of acknowledgement, assigned partitions."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

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
    "0": {"acks": 0},
    "1": {"acks": 1},
    "all": {"acks": "all"},
    "idempotent": {"enable_idempotence": True},
}


async def send(bootstrap_servers: str, records: list[SampleRecord], codec: str, acks: str) -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap_servers,
        compression_type=None if codec == "none" else codec,
        linger_ms=5,
        **ACKS[acks],
    )
    async with producer:
        deliveries = [
            await producer.send(
                TOPIC,
                record.value,
                record.key,
                record.partition,
                record.timestamp_ms,
                list(record.headers),
            )
            for record in records
        ]
        await asyncio.gather(*deliveries)


async def read(consumer: AIOKafkaConsumer, count: int) -> list[SampleRecord]:
    found: list[SampleRecord] = []
    while len(found) < count:
        record = await consumer.getone()
        found.append(
            SampleRecord(
                partition=record.partition,
                timestamp_ms=record.timestamp,
                key=record.key,
                value=record.value,
                headers=tuple(record.headers),
            )
        )
    return found


async def sent_and_read(
    bootstrap_servers: str, records: list[SampleRecord], codec: str, acks: str
) -> list[SampleRecord]:
    partitions = [TopicPartition(TOPIC, partition) for partition in range(PARTITIONS)]
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap_servers, group_id=None, fetch_max_wait_ms=100)
    async with asyncio.timeout(SECONDS_MAX), consumer:
        consumer.assign(partitions)
        for partition, offset in (await consumer.end_offsets(partitions)).items():
            consumer.seek(partition, offset)
        await send(bootstrap_servers, records, codec, acks)
        return await read(consumer, len(records))


@pytest.mark.parametrize("acks", ACKS)
@pytest.mark.parametrize("codec", CODECS)
def test_records_are_read_back_as_they_were_sent(bootstrap_servers: str, codec: str, acks: str) -> None:
    records = sample_records()
    found = asyncio.run(sent_and_read(bootstrap_servers, records, codec, acks))
    assert by_partition(found) == by_partition(records)
