"""Interceptors of consumers: they see what is read and committed, and their errors stop nothing."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from broker_client import AsyncConsumer, Consumer, Producer, TopicPartition
from broker_client.consumer_groups import OffsetAndMetadata
from broker_client.errors import ConfigError, IllegalState
from broker_sim.threaded_cluster import ThreadedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from broker_client.consumer import ConsumerRecord

KEY = TopicPartition("orders", 0)
READ_S = 20.0


class Upper:
    """Replaces the values, and remembers its calls with their threads."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def configure(self, settings: Mapping[str, object]) -> None:
        self.calls.append(("configure", settings["group.id"]))

    def on_consume(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        self.calls.append(("consume", len(records), threading.get_ident()))
        return [record._replace(value=(record.value or b"").upper()) for record in records]

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self.calls.append(("commit", {key: one.offset for key, one in offsets.items()}, threading.get_ident()))

    def close(self) -> None:
        self.calls.append(("close", threading.get_ident()))


class Failing:
    """Raises whenever it is called."""

    def on_consume(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        raise RuntimeError(records)

    def on_commit(self, offsets: object) -> None:
        raise RuntimeError(offsets)


class Forgetful:
    """Returns nothing."""

    def on_consume(self, records: list[ConsumerRecord]) -> None:
        """Look at the records."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=1, topics=["orders:1:1"]) as running:
        with Producer(bootstrap_servers=running.bootstrap_servers) as producer:
            producer.send("orders", b"a", partition=0).result(READ_S)
            producer.send("orders", b"b", partition=0).result(READ_S)
        yield running


def consumer_with(cluster: ThreadedCluster, *interceptors: object, group: str = "g") -> Consumer:
    return Consumer(
        bootstrap_servers=cluster.bootstrap_servers,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        interceptor_classes=list(interceptors),
        max_poll_records=1,
    )


def test_each_sees_the_records_of_the_one_before_and_errors_change_nothing(cluster: ThreadedCluster) -> None:
    upper, me = Upper(), threading.get_ident()
    with consumer_with(cluster, Failing, upper, Forgetful()) as consumer:
        consumer.assign([KEY])
        assert [record.value for record in consumer.poll(READ_S)] == [b"A"]
        consumer.commit()
        consumer.commit_async({KEY: OffsetAndMetadata(offset=2)})
        consumer.commit({})  # waits for the commit before
        assert [record.value for record in consumer.poll(READ_S)] == [b"B"]
    assert upper.calls == [
        ("configure", "g"),
        ("consume", 1, me),
        ("commit", {KEY: 1}, me),
        ("commit", {KEY: 2}, me),
        ("consume", 1, me),
        ("close", me),
    ]


def test_a_poll_without_records_is_not_seen_and_tables_are_refused(cluster: ThreadedCluster) -> None:
    upper = Upper()
    with consumer_with(cluster, upper, group="empty") as consumer:
        consumer.assign([KEY])
        consumer.seek(KEY, 2)
        assert consumer.poll(0.1) == []
        with pytest.raises(IllegalState, match=r"poll_batch: interceptor\.classes"):
            consumer.poll_batch(0.1)
    assert [call[0] for call in upper.calls] == ["configure", "close"]


def test_an_event_loop_calls_them_too(cluster: ThreadedCluster) -> None:
    upper = Upper()

    async def read() -> list[bytes | None]:
        async with AsyncConsumer(
            bootstrap_servers=cluster.bootstrap_servers,
            group_id="loop",
            auto_offset_reset="earliest",
            interceptor_classes=[upper],
        ) as consumer:
            await consumer.assign([KEY])
            found = await consumer.poll(READ_S)
            await consumer.commit()
            return [record.value for record in found]

    assert asyncio.run(read()) == [b"A", b"B"]
    assert [call[0] for call in upper.calls] == ["configure", "consume", "commit", "commit", "close"]


def test_an_element_that_is_no_interceptor_is_refused(cluster: ThreadedCluster) -> None:
    with pytest.raises(ConfigError, match=r"expected an object with on_consume\(records\)"):
        consumer_with(cluster, object())
