"""Current clients, configured for the age of the broker, against every release: produce and fetch with each codec."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING

import aiokafka
import confluent_kafka
import kafka
import pytest

import broker_client
from broker_sim.config.release_behaviour import behaviour_of
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs import releases

if TYPE_CHECKING:
    from collections.abc import Iterator

TOPIC = "ages"
PARTITIONS = 2
RECORDS = 10
SECONDS_MAX = 60
FIRST_TIMESTAMP_MS = 1_767_225_600_000
ALL_RELEASES = releases.names()
WITH_BATCHES = [release for release in ALL_RELEASES if behaviour_of(release).newest_magic == 2]
"""Releases whose Produce takes what newer clients write."""
IN_EVERY_RUN = ("0.8.0", "0.9.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.3.1", "2.8.2", "3.7.2", "4.0.0")
"""The releases of `make test` for the clients that take long; `make interop` has all."""
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture(autouse=True)
def no_sockets_left() -> Iterator[None]:
    """kafka-python leaves sockets to the garbage collector: to be collected here, not in a later test."""
    yield
    gc.collect()


@pytest.fixture
def servers(release: str) -> Iterator[list[str]]:
    with ThreadedCluster(brokers=3, release=release, topics=[f"{TOPIC}:{PARTITIONS}:3"]) as cluster:
        yield cluster.bootstrap_servers.split(",")


def mostly_in_interop(names: list[str]) -> list[object]:
    return [pytest.param(release, marks=() if release in IN_EVERY_RUN else pytest.mark.interop) for release in names]


def codecs_of(release: str) -> tuple[str, ...]:
    return CODECS[: behaviour_of(release).newest_codec + 1]


def value(number: int) -> bytes:
    return b"value %d " % number * 10


def expected(codecs: int) -> list[bytes]:
    return sorted(value(number) for _ in range(codecs) for number in range(RECORDS))


def kafka_pythons_name(release: str) -> tuple[int, ...]:
    """How kafka-python names a release: by three numbers in 0.8 and 0.10, else by two."""
    version = releases.get(release).version
    return version[:3] if version[:2] in {(0, 8), (0, 10)} else version[:2]


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("release", ALL_RELEASES)
def test_kafka_python_speaks_the_versions_of_each_release(release: str, servers: list[str]) -> None:
    behaviour = behaviour_of(release)
    settings = {"bootstrap_servers": servers, "api_version": kafka_pythons_name(release)}
    # For magic 0 it writes lz4 with the help of a package that we do not have.
    codecs = [codec for codec in codecs_of(release) if codec != "lz4" or behaviour.newest_magic]
    for codec in codecs:
        producer = kafka.KafkaProducer(
            compression_type=None if codec == "none" else codec,
            acks=-1,
            enable_idempotence=behaviour.newest_magic == 2,
            **settings,
        )
        sent = [
            producer.send(
                TOPIC,
                value(number),
                partition=number % PARTITIONS,
                timestamp_ms=FIRST_TIMESTAMP_MS + number if behaviour.newest_magic else None,
            )
            for number in range(RECORDS)
        ]
        for future in sent:
            future.get(SECONDS_MAX)
        producer.close(SECONDS_MAX)
    consumer = kafka.KafkaConsumer(group_id=None, auto_offset_reset="earliest", fetch_max_wait_ms=100, **settings)
    partitions = [kafka.TopicPartition(TOPIC, index) for index in range(PARTITIONS)]
    consumer.assign(partitions)
    found: list[bytes] = []
    while len(found) < RECORDS * len(codecs):
        polled = consumer.poll(timeout_ms=1000 * SECONDS_MAX)
        assert polled, f"{len(found)} records"
        found.extend(record.value for records in polled.values() for record in records)
    assert sorted(found) == expected(len(codecs))
    assert sum(consumer.end_offsets(partitions).values()) == len(found)
    consumer.close()


@pytest.mark.parametrize("release", mostly_in_interop(WITH_BATCHES))
def test_aiokafka_works_against_each_release_that_knows_batches(release: str, servers: list[str]) -> None:
    async def there_and_back() -> list[bytes]:
        for codec in codecs_of(release):
            async with aiokafka.AIOKafkaProducer(
                bootstrap_servers=servers, compression_type=None if codec == "none" else codec, enable_idempotence=True
            ) as producer:
                deliveries = [
                    await producer.send(TOPIC, value(number), partition=number % PARTITIONS)
                    for number in range(RECORDS)
                ]
                await asyncio.gather(*deliveries)
        async with aiokafka.AIOKafkaConsumer(bootstrap_servers=servers, fetch_max_wait_ms=100) as consumer:
            partitions = [aiokafka.TopicPartition(TOPIC, index) for index in range(PARTITIONS)]
            consumer.assign(partitions)
            for partition in partitions:
                consumer.seek(partition, 0)
            return [(await consumer.getone()).value for _ in range(RECORDS * len(codecs_of(release)))]

    found = asyncio.run(asyncio.wait_for(there_and_back(), SECONDS_MAX))
    assert sorted(found) == expected(len(codecs_of(release)))


@pytest.mark.parametrize("release", mostly_in_interop(ALL_RELEASES))
def test_confluent_kafka_speaks_to_each_release(release: str, servers: list[str]) -> None:
    settings = {"bootstrap.servers": ",".join(servers), "log_level": 3}
    if 18 not in releases.get(release).api_versions:
        settings |= {"api.version.request": "false", "broker.version.fallback": ".".join(release.split(".")[:3])}
    lost: list[object] = []
    for codec in codecs_of(release):
        producer = confluent_kafka.Producer(settings | {"compression.type": codec, "linger.ms": 1})
        for number in range(RECORDS):
            producer.produce(
                TOPIC,
                value(number),
                partition=number % PARTITIONS,
                on_delivery=lambda error, _: lost.append(error) if error else None,
            )
        assert producer.flush(SECONDS_MAX) == 0
    assert lost == []
    consumer = confluent_kafka.Consumer(settings | {"group.id": "unused", "enable.auto.commit": False})
    consumer.assign([confluent_kafka.TopicPartition(TOPIC, index, 0) for index in range(PARTITIONS)])
    found: list[bytes] = []
    while len(found) < RECORDS * len(codecs_of(release)):
        messages = consumer.consume(RECORDS, timeout=SECONDS_MAX)
        assert messages, f"{len(found)} records"
        found.extend(message.value() for message in messages if not message.error())
    consumer.close()
    assert sorted(found) == expected(len(codecs_of(release)))


@pytest.mark.parametrize("release", WITH_BATCHES)
def test_our_producer_works_against_each_release_that_knows_batches(release: str, servers: list[str]) -> None:
    with broker_client.Producer(bootstrap_servers=",".join(servers), acks="all") as producer:
        futures = [producer.send(TOPIC, value(number), partition=0) for number in range(RECORDS)]
        assert [future.result(timeout=SECONDS_MAX).offset for future in futures] == list(range(RECORDS))


@pytest.mark.parametrize("release", ["0.8.2", "0.9", "0.10.2"])
def test_our_producer_names_what_older_brokers_lack(release: str, servers: list[str]) -> None:
    settings = {"bootstrap_servers": ",".join(servers), "max_block_ms": 500, "delivery_timeout_ms": 500}
    with (
        broker_client.Producer(**settings, request_timeout_ms=400, linger_ms=0) as producer,
        pytest.raises(broker_client.ProducerError),
    ):
        producer.send(TOPIC, b"value", partition=0).result(timeout=SECONDS_MAX)
