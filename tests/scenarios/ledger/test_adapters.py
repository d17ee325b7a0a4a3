"""Each client library behind a ledger: its calls, callbacks and errors are as without, and its records are judged."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import aiokafka
import confluent_kafka
import kafka
import pytest
from confluent_kafka.serialization import StringSerializer
from kafka.serializer import Deserializer

import broker_client
from broker_scenarios.errors import ScenarioError
from broker_scenarios.ledger import Ledger, LedgerViolation
from broker_sim import ThreadedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

VALUES = ("one", "two", "two", "three")


@pytest.fixture(scope="module")
def shared() -> Iterator[ThreadedCluster]:
    config = {"transaction.state.log.replication.factor": 1, "transaction.state.log.min.isr": 1}
    with ThreadedCluster(brokers=1, topics=["orders:1:1"], quick_groups=True, config=config) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared: ThreadedCluster) -> ThreadedCluster:
    shared.reset()
    return shared


@pytest.fixture
def ledger(cluster: ThreadedCluster) -> Ledger:
    return Ledger(cluster, "orders")


def counted(ledger: Ledger) -> dict[str, int]:
    """The completed operations of a valid ledger, by function, without its final poll."""
    operations = [each for each in ledger.check().operations if each.type == "ok" and not each.final]
    names = [each.f.value for each in operations]
    return {name: names.count(name) for name in names}


def test_confluent_kafka(cluster: ThreadedCluster, ledger: Ledger) -> None:
    servers = {"bootstrap.servers": cluster.bootstrap_servers}
    producer = ledger.wrap(confluent_kafka.Producer(servers))
    assert isinstance(producer, confluent_kafka.Producer)
    delivered: list[Any] = []
    for value in VALUES:
        producer.produce("orders", value, b"k", 0, on_delivery=lambda _, message: delivered.append(message.value()))
    producer.produce("elsewhere", "not of the ledger")
    assert len(producer) > 0
    assert producer.flush(10) == 0
    assert delivered == [value.encode() for value in VALUES]
    with pytest.raises(confluent_kafka.KafkaException, match="MSG_SIZE_TOO_LARGE"):
        producer.produce("orders", "refused", partition=0, key=b"k" * 2_000_000)

    consumer = ledger.wrap(confluent_kafka.Consumer({**servers, "group.id": "g", "auto.offset.reset": "earliest"}))
    consumer.subscribe(["orders"])
    message = None
    while message is None:
        message = consumer.poll(0.1)
    assert message.value() == b"one"
    received = 1
    while received < len(VALUES):
        received += len(consumer.consume(10, 0.1))
    consumer.close()
    assert counted(ledger)["send"] == len(VALUES)


def test_confluent_kafka_with_serializers_and_an_assignment(cluster: ThreadedCluster, ledger: Ledger) -> None:
    serializer = StringSerializer("utf_16_le")
    servers = {"bootstrap.servers": cluster.bootstrap_servers}
    serializing = confluent_kafka.SerializingProducer({**servers, "value.serializer": serializer})
    producer = ledger.wrap(serializing)
    producer.produce("orders", value="one")
    producer.produce("orders", None, "two")
    assert producer.flush(10) == 0
    consumer = ledger.wrap(confluent_kafka.Consumer({**servers, "group.id": "unused"}))
    consumer.assign([confluent_kafka.TopicPartition("orders", 0, confluent_kafka.OFFSET_BEGINNING)])
    received: list[Any] = []
    while len(received) < 2:
        received += consumer.consume(1, 0.1)
    consumer.seek(confluent_kafka.TopicPartition("orders", 0, 1))
    while len(received) < 3:
        received += consumer.consume(1, 0.1)
    consumer.close()
    assert [message.value().decode("utf_16_le") for message in received] == ["one", "two", "two"]
    assert counted(ledger)["poll"] == 3


def test_transactions_of_confluent_kafka(cluster: ThreadedCluster, ledger: Ledger) -> None:
    servers = {"bootstrap.servers": cluster.bootstrap_servers}
    producer = ledger.wrap(confluent_kafka.Producer({**servers, "transactional.id": "t"}))
    producer.init_transactions(10)
    for value, end in (("committed", producer.commit_transaction), ("aborted", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce("orders", value)
        producer.flush(10)
        end(10)
    verdict = ledger.check()
    assert [each.type.value for each in verdict.operations if each.f == "txn"] == ["invoke", "ok", "invoke", "fail"]
    assert verdict.logs["orders-0"] == [[0, "committed"], [2, "aborted", {"state": "aborted"}]]


class Text(Deserializer):  # type: ignore[misc]  # the client has no types
    def deserialize(self, *arguments: Any) -> str:
        return str(arguments[-1].decode())


def test_kafka_python(cluster: ThreadedCluster, ledger: Ledger) -> None:
    servers = cluster.bootstrap_servers
    producer = ledger.wrap(kafka.KafkaProducer(bootstrap_servers=servers))
    futures = [producer.send("orders", value.encode(), partition=0) for value in VALUES]
    assert [future.get(10).offset for future in futures] == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="Need at least one"):
        producer.send("orders")
    producer.close()
    consumer = ledger.wrap(kafka.KafkaConsumer(bootstrap_servers=servers, value_deserializer=Text()))
    consumer.assign([kafka.TopicPartition("orders", 0)])
    consumer.seek_to_beginning()
    assert next(consumer).value == "one"
    received = 1
    while received < len(VALUES):
        received += sum(len(batch) for batch in consumer.poll(100).values())
    consumer.close()
    assert counted(ledger)["send"] == len(VALUES)


def test_aiokafka(cluster: ThreadedCluster, ledger: Ledger) -> None:
    async def run() -> None:
        servers = cluster.bootstrap_servers
        client = aiokafka.AIOKafkaProducer(bootstrap_servers=servers, transactional_id="t", request_timeout_ms=10_000)
        async with ledger.wrap(client) as producer:
            async with producer.transaction():
                assert (await producer.send_and_wait("orders", b"one")).offset == 0
                await producer.send("orders", b"two")
            await producer.begin_transaction()
            await producer.send_and_wait("orders", b"aborted")
            await producer.abort_transaction()
        reader = aiokafka.AIOKafkaConsumer(
            "orders", bootstrap_servers=servers, auto_offset_reset="earliest", isolation_level="read_committed"
        )
        async with ledger.wrap(reader) as consumer:
            async for record in consumer:
                assert record.value == b"one"
                break
            assert (await consumer.getone()).value == b"two"

    asyncio.run(asyncio.wait_for(run(), 30))
    assert counted(ledger) == {"txn": 1, "subscribe": 1, "poll": 2}


def test_our_clients(cluster: ThreadedCluster, ledger: Ledger) -> None:
    delivered: list[int] = []
    with ledger.wrap(broker_client.Producer(bootstrap_servers=cluster.bootstrap_servers)) as producer:
        assert producer.send("orders", b"one").result(10).offset == 0
        producer.send("orders", b"two", on_delivery=lambda metadata, _: delivered.append(metadata.offset)).result(10)
    assert delivered == [1]
    with ledger.wrap(broker_client.Consumer(bootstrap_servers=cluster.bootstrap_servers)) as consumer:
        consumer.assign([broker_client.TopicPartition("orders", 0)])
        consumer.seek_to_beginning()
        received: list[Any] = []
        while len(received) < 2:
            received += consumer.poll(0.1)
    assert counted(ledger)["send"] == 2


def test_our_clients_on_asyncio(cluster: ThreadedCluster, ledger: Ledger) -> None:
    async def run() -> None:
        async with ledger.wrap(broker_client.AsyncProducer(bootstrap_servers=cluster.bootstrap_servers)) as producer:
            assert (await producer.send_and_wait("orders", b"one")).offset == 0
        async with ledger.wrap(broker_client.AsyncConsumer(bootstrap_servers=cluster.bootstrap_servers)) as consumer:
            await consumer.assign([broker_client.TopicPartition("orders", 0)])
            consumer.seek_to_beginning()
            async for record in consumer:
                assert record.value == b"one"
                break

    asyncio.run(asyncio.wait_for(run(), 30))
    assert counted(ledger)["send"] == 1


def test_a_callback_that_raises_raises_as_without_a_ledger(cluster: ThreadedCluster, ledger: Ledger) -> None:
    producer = ledger.wrap(confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap_servers}))

    def fail(error: Any, message: Any) -> None:
        raise KeyError("of the application")

    producer.produce("orders", "one", on_delivery=fail)
    with pytest.raises(KeyError, match="of the application"):
        producer.flush(10)
    ledger.check()
    producer.close()  # confluent-kafka 2.16 never frees a producer whose callback has raised


def test_a_record_that_a_client_swallows_is_found(cluster: ThreadedCluster, ledger: Ledger) -> None:
    class Swallowing(broker_client.Consumer):
        def poll(self, timeout: float = 0.5) -> list[broker_client.ConsumerRecord]:
            return [record for record in super().poll(timeout) if record.value != b"two"]

    with ledger.wrap(broker_client.Producer(bootstrap_servers=cluster.bootstrap_servers)) as producer:
        for value in (b"one", b"two", b"three"):
            producer.send("orders", value).result(10)
    with ledger.wrap(Swallowing(bootstrap_servers=cluster.bootstrap_servers)) as consumer:
        consumer.assign([broker_client.TopicPartition("orders", 0)])
        consumer.seek_to_beginning()
        received = 0
        while received < 2:
            received += len(consumer.poll(0.1))
    with pytest.raises(LedgerViolation, match="1 never delivered") as caught:
        ledger.check()
    assert caught.value.verdict.undelivered == ["two"]


def test_what_is_not_followed_is_refused(cluster: ThreadedCluster, ledger: Ledger) -> None:
    with pytest.raises(ScenarioError, match=r"a ledger cannot wrap builtins\.object: expected a producer or consumer"):
        ledger.wrap(object())
    with (
        ledger.wrap(broker_client.Producer(bootstrap_servers=cluster.bootstrap_servers)) as producer,
        pytest.raises(ScenarioError, match="a ledger does not follow send_batch of Producer"),
    ):
        producer.send_batch("orders", None)
