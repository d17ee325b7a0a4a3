"""Deserializers of consumers: what they return, and a poison record, which comes next until it is sought past."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from broker_client import AsyncConsumer, Consumer, Producer, TopicPartition
from broker_client.consumer_errors import RecordDeserializationError
from broker_client.errors import IllegalState, SerializationError
from broker_sim.threaded_cluster import ThreadedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

READ_S = 20.0
FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)
VALUES = (b"1", b"2", b"poison", b"4", None)


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=1, topics=["orders:2:1"]) as running:
        with Producer(bootstrap_servers=running.bootstrap_servers) as producer:
            for partition in (0, 1):
                sent = [producer.send("orders", value, key=b"\0\0\0\7", partition=partition) for value in VALUES]
                for future in sent:
                    future.result(READ_S)
        yield running


def options(cluster: ThreadedCluster, **more: Any) -> dict[str, Any]:
    return {
        "bootstrap_servers": cluster.bootstrap_servers,
        "auto_offset_reset": "earliest",
        "fetch_max_wait_ms": 50,
        "value_deserializer": json.loads,
        **more,
    }


def read(consumer: Consumer, count: int) -> list[Any]:
    found: list[Any] = []
    while len(found) < count:
        found += consumer.poll(READ_S)
    return found


def test_keys_and_values_are_deserialized_on_the_thread_that_polls(cluster: ThreadedCluster) -> None:
    threads = []

    def value_of(data: bytes) -> str:
        threads.append(threading.get_ident())
        return data.decode()

    with Consumer(**options(cluster, value_deserializer=value_of, key_deserializer="IntegerDeserializer")) as consumer:
        consumer.assign([FIRST])
        found = read(consumer, len(VALUES))
    assert [record.value for record in found] == ["1", "2", "poison", "4", None]
    assert {record.key for record in found} == {7}
    assert set(threads) == {threading.get_ident()}


def test_a_poison_record_is_raised_again_until_the_consumer_seeks_past_it(cluster: ThreadedCluster) -> None:
    with Consumer(**options(cluster)) as consumer:
        consumer.assign([FIRST])
        assert [record.value for record in read(consumer, 2)] == [1, 2]
        assert consumer.position(FIRST) == 2
        for _ in range(2):
            with pytest.raises(RecordDeserializationError, match=r"orders-0 at offset 2: JSONDecodeError") as raised:
                consumer.poll(READ_S)
            assert consumer.position(FIRST) == 2
        error = raised.value
        assert (error.origin, error.partition, error.offset, error.record.value) == ("value", FIRST, 2, b"poison")
        assert isinstance(error, SerializationError)
        consumer.seek(FIRST, error.offset + 1)
        assert [record.value for record in read(consumer, 2)] == [4, None]


def test_no_record_of_another_partition_is_lost_behind_a_poison_record(cluster: ThreadedCluster) -> None:
    found: dict[TopicPartition, list[Any]] = {FIRST: [], SECOND: []}
    with Consumer(**options(cluster)) as consumer:
        consumer.assign([FIRST, SECOND])
        while sum(map(len, found.values())) < 8:
            try:
                for record in consumer.poll(READ_S):
                    found[TopicPartition(record.topic, record.partition)].append(record.value)
            except RecordDeserializationError as error:
                consumer.seek(error.partition, error.offset + 1)
    assert found == {FIRST: [1, 2, 4, None], SECOND: [1, 2, 4, None]}


def test_nothing_behind_a_poison_record_is_committed(cluster: ThreadedCluster) -> None:
    with Consumer(**options(cluster, group_id="poisoned")) as consumer:
        consumer.assign([FIRST])
        assert [record.value for record in consumer.poll(READ_S)] == [1, 2]
        with pytest.raises(RecordDeserializationError):
            consumer.poll(READ_S)
    with Consumer(**options(cluster, group_id="poisoned")) as consumer:
        committed = consumer.committed([FIRST])[FIRST]
        assert committed is not None
        assert committed.offset == 2


def test_poll_batch_refuses_deserializers(cluster: ThreadedCluster) -> None:
    with Consumer(**options(cluster)) as consumer:
        consumer.assign([FIRST])
        with pytest.raises(IllegalState, match="deserializers receive records one by one"):
            consumer.poll_batch(0.0)


def test_an_asyncio_consumer_deserializes_too(cluster: ThreadedCluster) -> None:
    async def run() -> list[Any]:
        async with AsyncConsumer(**options(cluster)) as consumer:
            await consumer.assign([SECOND])
            found = [record.value for record in await consumer.poll(READ_S)]
            with pytest.raises(RecordDeserializationError):
                await consumer.poll(READ_S)
            return found

    assert asyncio.run(run()) == [1, 2]
