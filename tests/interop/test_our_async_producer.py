"""Our asyncio producer against real Kafka: records, tables and transactions, some of which are given up half-way."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from confluent_kafka import Consumer as LibrdkafkaConsumer
from confluent_kafka import TopicPartition as LibrdkafkaPartition

from broker_client import AsyncProducer, TopicPartition
from broker_client.errors import IllegalState
from broker_client.transaction_errors import ProducerFenced
from tests.interop.real_kafka import real_kafka
from tests.interop.test_our_producer import CODECS, PARTITIONS, create
from tests.interop.test_our_transactions import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from tests.interop.real_kafka import RealKafka

RELEASE = "4.3.1"
SECONDS_MAX = 60


@pytest.fixture(scope="module")
def kafka() -> Iterator[RealKafka]:
    with real_kafka(RELEASE, settings=SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def topic(kafka: RealKafka) -> str:
    name = f"topic-{uuid.uuid4().hex[:8]}"
    create(kafka.bootstrap_servers, name, 1)
    return name


def run(body: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    async def bounded() -> Any:
        return await asyncio.wait_for(body(), SECONDS_MAX)

    return asyncio.run(bounded())


def read(kafka: RealKafka, topic: str) -> list[list[bytes]]:
    """Return the committed records, partition by partition, up to the end offset at the time of the read."""
    consumer = LibrdkafkaConsumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    values: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
    ended = 0
    try:
        consumer.assign([LibrdkafkaPartition(topic, number, 0) for number in range(PARTITIONS)])
        while ended < PARTITIONS:
            message = consumer.poll(30)
            assert message is not None, "the consumer did not come to the end"
            if message.error() is None:
                values[message.partition()].append(message.value())
            else:
                ended += 1
    finally:
        consumer.close()
    return values


@pytest.mark.parametrize("codec", CODECS)
def test_many_tasks_send_and_nothing_is_lost_or_moved(kafka: RealKafka, topic: str, codec: str) -> None:
    async def task(producer: AsyncProducer, number: int) -> None:
        for index in range(100):
            await producer.send_and_wait(topic, b"%d-%03d" % (number, index), partition=number % PARTITIONS)

    async def main() -> None:
        async with AsyncProducer(
            bootstrap_servers=kafka.bootstrap_servers, compression_type=codec, linger_ms=0, batch_size=500
        ) as producer:
            await asyncio.gather(*(task(producer, number) for number in range(12)))

    run(main)
    stored = read(kafka, topic)
    assert sum(map(len, stored)) == 1_200
    for number in range(12):
        mine = [value for value in stored[number % PARTITIONS] if value.startswith(b"%d-" % number)]
        assert mine == [b"%d-%03d" % (number, index) for index in range(100)]


def test_a_table_is_written_while_others_send(kafka: RealKafka, topic: str) -> None:
    async def main() -> None:
        async with AsyncProducer(bootstrap_servers=kafka.bootstrap_servers, buffer_memory=500_000) as producer:
            table = pa.table({"value": [b"row %04d" % number * 50 for number in range(2_000)]})
            rows, *places = await asyncio.gather(
                producer.send_batch(topic, table), *(producer.send_and_wait(topic, b"record") for _ in range(50))
            )
            acknowledged = await rows
            assert acknowledged["error"].null_count == 2_000
            assert len({(place.partition, place.offset) for place in places}) == 50

    run(main)
    assert sum(map(len, read(kafka, topic))) == 2_050


def test_transactions_end_as_requested(kafka: RealKafka, topic: str) -> None:
    async def main() -> None:
        async with AsyncProducer(bootstrap_servers=kafka.bootstrap_servers, transactional_id=topic) as producer:
            await producer.init_transactions()
            for outcome in ("committed", "aborted"):
                await producer.begin_transaction()
                for partition in range(PARTITIONS):
                    await producer.send(topic, outcome.encode(), partition=partition)
                await producer.flush()
                if outcome == "committed":
                    await producer.send_offsets_to_transaction({TopicPartition(topic, 0): 17}, f"group of {topic}")
                    await producer.commit_transaction()
                else:
                    await producer.abort_transaction()
            with pytest.raises(IllegalState):
                await producer.send(topic, b"outside")

    run(main)
    assert read(kafka, topic) == [[b"committed"]] * PARTITIONS
    consumer = LibrdkafkaConsumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": f"group of {topic}"})
    try:
        (acknowledged,) = consumer.committed([LibrdkafkaPartition(topic, 0)], timeout=30)
        assert acknowledged.offset == 17
    finally:
        consumer.close()


def test_calls_that_are_cancelled_are_made_again(kafka: RealKafka, topic: str) -> None:
    async def cancelled_once(call: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = asyncio.create_task(call())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await call()

    async def main() -> None:
        async with AsyncProducer(bootstrap_servers=kafka.bootstrap_servers, transactional_id=topic) as producer:
            await producer.start()
            await cancelled_once(producer.init_transactions)
            await producer.begin_transaction()
            await producer.send(topic, b"committed", partition=0)
            await cancelled_once(producer.commit_transaction)
            await producer.begin_transaction()
            await producer.send_and_wait(topic, b"aborted", partition=0)
            await cancelled_once(producer.abort_transaction)

    run(main)
    assert read(kafka, topic)[0] == [b"committed"]


def test_a_second_producer_fences_the_first(kafka: RealKafka, topic: str) -> None:
    async def main() -> None:
        servers = kafka.bootstrap_servers
        async with (
            AsyncProducer(bootstrap_servers=servers, transactional_id=topic) as first,
            AsyncProducer(bootstrap_servers=servers, transactional_id=topic) as second,
        ):
            await first.init_transactions()
            await first.begin_transaction()
            await first.send_and_wait(topic, b"of the first", partition=0)
            await second.init_transactions()
            with pytest.raises(ProducerFenced):
                await first.commit_transaction()

    run(main)
    assert read(kafka, topic) == [[]] * PARTITIONS
