"""ShareConsumer and AsyncShareConsumer on a simulated cluster on TCP: threads, event loops, options, misuse."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from broker_client import (
    AcknowledgeType,
    Admin,
    AlterConfigOp,
    AsyncShareConsumer,
    ConfigResource,
    Producer,
    ShareConsumer,
    TopicIdPartition,
)
from broker_client.consumer_errors import InvalidGroupId, RecordDeserializationError, WakeupError
from broker_client.errors import ConfigError, IllegalState, ProducerClosed
from broker_client.share_consumer_options import share_consumer_options
from broker_sim.threaded_cluster import ThreadedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from broker_client import ConsumerRecord, ProducerError

OPTIONS: dict[str, Any] = {"bootstrap_servers": "localhost:9092", "group_id": "g"}


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with ThreadedCluster(brokers=1, topics=["t:1:1"], quick_groups=True) as cluster:
        with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
            earliest = AlterConfigOp(name="share.auto.offset.reset", value="earliest")
            admin.incremental_alter_configs(
                {ConfigResource.group(group): [earliest] for group in ("a", "b", "c", "d", "e")}
            )
        with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
            for number in range(3):
                producer.send("t", b"%d" % number)
        yield cluster.bootstrap_servers


def read(consumer: ShareConsumer) -> list[ConsumerRecord]:
    while not (records := consumer.poll(1.0)):
        pass
    return records


def test_results_are_called_on_the_thread_of_the_application(servers: str) -> None:
    results: list[tuple[list[TopicIdPartition], list[int], ProducerError | None, int]] = []

    def completed(offsets: Mapping[TopicIdPartition, frozenset[int]], error: ProducerError | None) -> None:
        [found] = offsets.values()
        results.append((list(offsets), sorted(found), error, threading.get_ident()))

    with ShareConsumer(bootstrap_servers=servers, group_id="a") as consumer:
        consumer.set_acknowledgement_commit_callback(completed)
        consumer.subscribe(["t"])
        assert consumer.subscription() == ("t",)
        assert [one.value for one in read(consumer)] == [b"0", b"1", b"2"]
        committed = consumer.commit_sync()
        assert list(committed.values()) == [None]
        assert results == [(list(committed), [0, 1, 2], None, threading.get_ident())]
        threading.Timer(0.1, consumer.wakeup).start()
        with pytest.raises(WakeupError):
            consumer.poll(30.0)
        assert consumer.client_instance_id(0.1) is None  # these brokers request no metrics
        consumer.unsubscribe()
        with pytest.raises(IllegalState, match="not subscribed"):
            consumer.poll(0.1)
    for call in (consumer.poll, consumer.commit_async, consumer.subscription, consumer.acquisition_lock_timeout_ms):
        with pytest.raises(ProducerClosed):
            call()
    consumer.close()


def test_explicit_acknowledgements_are_sent_by_close(servers: str) -> None:
    options: dict[str, Any] = {"bootstrap_servers": servers, "group_id": "b"}
    with ShareConsumer(**options, share_acknowledgement_mode="explicit") as consumer:
        consumer.subscribe(["t"])
        first, second, third = read(consumer)
        consumer.acknowledge(first)
        consumer.acknowledge(second, AcknowledgeType.REJECT)
        consumer.acknowledge(third, AcknowledgeType.RELEASE)
    with ShareConsumer(**options) as consumer:
        consumer.subscribe(["t"])
        assert [(one.offset, one.delivery_count) for one in read(consumer)] == [(2, 2)]


def test_an_event_loop_reads_and_acknowledges(servers: str) -> None:
    results: list[list[int]] = []

    async def completed(offsets: Mapping[TopicIdPartition, frozenset[int]], error: ProducerError | None) -> None:
        await asyncio.sleep(0)
        assert error is None
        results.extend(sorted(found) for found in offsets.values())

    async def run() -> None:
        async with AsyncShareConsumer(
            bootstrap_servers=servers, group_id="c", share_acknowledgement_mode="explicit"
        ) as consumer:
            consumer.set_acknowledgement_commit_callback(completed)
            await consumer.subscribe(["t"])
            while not (records := await consumer.poll(1.0)):
                pass
            assert (consumer.acquisition_lock_timeout_ms() or 0) > 0
            for record in records:
                consumer.acknowledge(record)
            await consumer.commit_async()
            while not results:
                await consumer.poll(0.05)
            assert await consumer.commit_sync() == {}
            waiting = asyncio.ensure_future(consumer.poll(30.0))
            await asyncio.sleep(0)
            consumer.wakeup()
            with pytest.raises(WakeupError):
                await waiting
            await consumer.unsubscribe()
            assert consumer.subscription() == ()
        with pytest.raises(ProducerClosed):
            await consumer.poll()

    asyncio.run(run())
    assert results == [[0, 1, 2]]


def test_records_are_deserialized_on_the_thread_that_polls(servers: str) -> None:
    threads = []

    def number_of(data: bytes) -> int:
        threads.append(threading.get_ident())
        if data == b"1":
            raise ValueError("poison")
        return int(data)

    with ShareConsumer(bootstrap_servers=servers, group_id="d", value_deserializer=number_of) as consumer:
        consumer.subscribe(["t"])
        assert [one.value for one in read(consumer)] == [0]
        with pytest.raises(RecordDeserializationError, match="at offset 1: ValueError: poison; it was released"):
            consumer.poll(1.0)
        assert [one.value for one in read(consumer)] == [2]
    assert set(threads) == {threading.get_ident()}


def test_an_event_loop_deserializes_too(servers: str) -> None:
    async def run() -> list[object]:
        async with AsyncShareConsumer(
            bootstrap_servers=servers,
            group_id="e",
            value_deserializer="StringDeserializer",
            enable_metrics_push=False,
        ) as consumer:
            await consumer.subscribe(["t"])
            while not (records := await consumer.poll(1.0)):
                pass
            assert consumer.metrics()["last-poll-seconds-ago"] == 0
            with pytest.raises(IllegalState, match=r"enable\.metrics\.push"):
                await consumer.client_instance_id(0.1)
            return [record.value for record in records]

    assert asyncio.run(run()) == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"auto_offset_reset": "earliest"}, r"^auto.offset.reset cannot be set when using a share group\.$"),
        (
            {"group_protocol": "consumer", "enable_auto_commit": False},
            r"^enable.auto.commit, group.protocol cannot be set when using a share group\.$",
        ),
        ({"share_acknowledgement_mode": "EXPLICIT"}, "share.acknowledgement.mode"),
        ({"share_acquire_mode": "all"}, "share.acquire.mode"),
        ({"group_instance_id": "i"}, "group.instance.id cannot be set"),
        ({"max_poll_records": 0}, "max.poll.records"),
        ({"value_deserializer": "NoneSuchDeserializer"}, "value.deserializer"),
    ],
)
def test_options_that_are_not_for_share_groups_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        share_consumer_options({**OPTIONS, **options})


@pytest.mark.parametrize("group", [None, ""])
def test_a_share_consumer_needs_a_group(group: str | None) -> None:
    with pytest.raises(InvalidGroupId, match=r"^You must provide a valid group.id in the consumer configuration\.$"):
        share_consumer_options({**OPTIONS, "group_id": group})


def test_defaults_are_those_of_java() -> None:
    parsed = share_consumer_options({**OPTIONS, "share_acquire_mode": "Record_Limit", "client_rack": "r"})
    assert (parsed.share.acquire_mode, parsed.share.acknowledgement_mode.value) == (1, "implicit")
    assert parsed.client.network.client_id == "consumer-g-1"
    assert (parsed.group.client_rack, parsed.share.fetch.max_poll_records) == ("r", 500)
