"""Transactions of confluent-kafka, aiokafka and kafka-python: commit, abort, isolation, offsets, fencing, time-out."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import itertools
import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, TypeVar

import aiokafka
import aiokafka.errors
import confluent_kafka
import kafka
import kafka.errors
import pytest

from tests.differential.probe import attempts
from tests.interop.servers import create_topic

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
SECONDS_MAX: Final = 30
TIMEOUT_MS: Final = 60_000
SHORT_TIMEOUT_MS: Final = 1_000
ISOLATION: Final = ("read_committed", "read_uncommitted")
FENCED: Final = "(?i)fenced|newer producer"
SETTINGS: Final = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
    "group.initial.rebalance.delay.ms": "0",
}
"""With Kafka's defaults a time-out would be noticed after 10 s, and each group would wait 3 s for more members."""
numbers = itertools.count()
Result = TypeVar("Result")


class TransactionalProducer(ABC):
    """One producer with a transactional id; its calls are those that all three clients have."""

    fenced: type[Exception]
    """What the client raises for a producer whose epoch is no longer the current one."""

    @abstractmethod
    def __init__(self, servers: str, transactional_id: str, timeout_ms: int = TIMEOUT_MS) -> None:
        """Connect and initialise the transactions."""

    @abstractmethod
    def begin(self) -> None: ...

    @abstractmethod
    def send(self, topic: str, *values: bytes) -> None:
        """Write to partition 0 and wait for the acknowledgement."""

    @abstractmethod
    def commit(self) -> None: ...

    @abstractmethod
    def abort(self) -> None: ...

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def consume_and_send_offsets(self, group: str, source: str, target: str, count: int) -> None:
        """Join a group, read `count` records, write them to the target, add their offsets to the transaction."""


class TransactionalClient(ABC):
    """One client library."""

    producer: type[TransactionalProducer]

    @abstractmethod
    def end_offset(self, servers: str, topic: str, isolation: str) -> int:
        """Return where a consumer of this isolation level ends."""

    @abstractmethod
    def read(self, servers: str, topic: str, isolation: str, last: bytes) -> list[bytes]:
        """Return the values of partition 0 from its start up to a value."""

    @abstractmethod
    def committed(self, servers: str, group: str, topic: str) -> int | None:
        """Return the committed offset of partition 0."""


class ConfluentProducer(TransactionalProducer):
    fenced = confluent_kafka.KafkaException

    def __init__(self, servers: str, transactional_id: str, timeout_ms: int = TIMEOUT_MS) -> None:
        self._servers = servers
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": servers,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": timeout_ms,
                "linger.ms": 0,
                "log_level": 0,
            }
        )
        self._producer.init_transactions(SECONDS_MAX)

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, *values: bytes) -> None:
        errors: list[confluent_kafka.KafkaError] = []
        for value in values:
            self._producer.produce(
                topic, value, partition=0, on_delivery=lambda error, _: errors.append(error) if error else None
            )
        assert self._producer.flush(SECONDS_MAX) == 0
        if errors:
            raise confluent_kafka.KafkaException(errors[0])

    def commit(self) -> None:
        self._producer.commit_transaction(SECONDS_MAX)

    def abort(self) -> None:
        self._producer.abort_transaction(SECONDS_MAX)

    def close(self) -> None:
        with contextlib.suppress(confluent_kafka.KafkaException):  # a fenced producer refuses this too
            self._producer.flush(0)

    def consume_and_send_offsets(self, group: str, source: str, target: str, count: int) -> None:
        consumer = _confluent_consumer(self._servers, "read_committed", group)
        consumer.subscribe([source])
        messages: list[confluent_kafka.Message] = []
        while len(messages) < count:
            polled = consumer.consume(count - len(messages), timeout=SECONDS_MAX)
            assert polled
            messages += polled
        self.send(target, *(message.value() or b"" for message in messages))
        self._producer.send_offsets_to_transaction(
            consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), SECONDS_MAX
        )
        consumer.close()


def _confluent_consumer(servers: str, isolation: str, group: str) -> confluent_kafka.Consumer:
    return confluent_kafka.Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "isolation.level": isolation,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 50,
            "log_level": 0,
        }
    )


class Confluent(TransactionalClient):
    producer = ConfluentProducer

    def end_offset(self, servers: str, topic: str, isolation: str) -> int:
        consumer = _confluent_consumer(servers, isolation, "unused")
        _, end = consumer.get_watermark_offsets(confluent_kafka.TopicPartition(topic, 0), timeout=SECONDS_MAX)
        consumer.close()
        return int(end)

    def read(self, servers: str, topic: str, isolation: str, last: bytes) -> list[bytes]:
        consumer = _confluent_consumer(servers, isolation, "unused")
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        values: list[bytes] = []
        while values[-1:] != [last]:
            message = consumer.poll(SECONDS_MAX)
            assert message is not None, values
            assert message.error() is None, message.error()
            values.append(message.value() or b"")
        consumer.close()
        return values

    def committed(self, servers: str, group: str, topic: str) -> int | None:
        consumer = _confluent_consumer(servers, "read_committed", group)
        (found,) = consumer.committed([confluent_kafka.TopicPartition(topic, 0)], timeout=SECONDS_MAX)
        consumer.close()
        return None if found.offset < 0 else int(found.offset)


class KafkaPythonProducer(TransactionalProducer):
    fenced = kafka.errors.ProducerFencedError

    def __init__(self, servers: str, transactional_id: str, timeout_ms: int = TIMEOUT_MS) -> None:
        self._servers = servers
        self._producer = kafka.KafkaProducer(
            bootstrap_servers=servers.split(","),
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
        )
        self._producer.init_transactions()

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, *values: bytes) -> None:
        for future in [self._producer.send(topic, value, partition=0) for value in values]:
            future.get(SECONDS_MAX)

    def commit(self) -> None:
        self._producer.commit_transaction()

    def abort(self) -> None:
        self._producer.abort_transaction()

    def close(self) -> None:
        self._producer.close(timeout=1)

    def consume_and_send_offsets(self, group: str, source: str, target: str, count: int) -> None:
        consumer = _kafka_python_consumer(self._servers, "read_committed", group)
        consumer.subscribe([source])
        records: list[Any] = []
        for _ in attempts(f"{count} records", seconds=SECONDS_MAX):
            records += [record for batch in consumer.poll(200).values() for record in batch]
            if len(records) >= count:
                break
        self.send(target, *(record.value for record in records))
        partition = kafka.TopicPartition(source, 0)
        offset = kafka.OffsetAndMetadata(consumer.position(partition), "", -1)
        self._producer.send_offsets_to_transaction({partition: offset}, consumer.group_metadata())
        consumer.close()


def _kafka_python_consumer(servers: str, isolation: str, group: str | None = None) -> kafka.KafkaConsumer:
    return kafka.KafkaConsumer(
        bootstrap_servers=servers.split(","),
        group_id=group,
        isolation_level=isolation,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        fetch_max_wait_ms=50,
    )


class KafkaPython(TransactionalClient):
    producer = KafkaPythonProducer

    def end_offset(self, servers: str, topic: str, isolation: str) -> int:
        consumer = _kafka_python_consumer(servers, isolation)
        (end,) = consumer.end_offsets([kafka.TopicPartition(topic, 0)]).values()
        consumer.close()
        return int(end)

    def read(self, servers: str, topic: str, isolation: str, last: bytes) -> list[bytes]:
        consumer = _kafka_python_consumer(servers, isolation)
        consumer.assign([kafka.TopicPartition(topic, 0)])
        values: list[bytes] = []
        for _ in attempts(f"{last!r} is read", seconds=SECONDS_MAX):
            values += [record.value for batch in consumer.poll(200).values() for record in batch]
            if values[-1:] == [last]:
                break
        consumer.close()
        return values

    def committed(self, servers: str, group: str, topic: str) -> int | None:
        consumer = _kafka_python_consumer(servers, "read_committed", group)
        offset = consumer.committed(kafka.TopicPartition(topic, 0))
        consumer.close()
        return None if offset is None else int(offset)


@functools.cache
def event_loop() -> asyncio.AbstractEventLoop:
    """An event loop in a thread: aiokafka's tasks go on between two calls of a test."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="aiokafka", daemon=True).start()
    return loop


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run_coroutine_threadsafe(asyncio.wait_for(coroutine, SECONDS_MAX), event_loop()).result()


class AiokafkaProducer(TransactionalProducer):
    fenced = aiokafka.errors.ProducerFenced

    def __init__(self, servers: str, transactional_id: str, timeout_ms: int = TIMEOUT_MS) -> None:
        self._servers = servers

        async def started() -> aiokafka.AIOKafkaProducer:
            producer = aiokafka.AIOKafkaProducer(
                bootstrap_servers=servers, transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
            )
            await producer.start()
            return producer

        self._producer = run(started())

    def begin(self) -> None:
        run(self._producer.begin_transaction())

    def send(self, topic: str, *values: bytes) -> None:
        async def acknowledged() -> None:
            await asyncio.gather(*[await self._producer.send(topic, value, partition=0) for value in values])

        run(acknowledged())

    def commit(self) -> None:
        run(self._producer.commit_transaction())

    def abort(self) -> None:
        run(self._producer.abort_transaction())

    def close(self) -> None:
        run(self._producer.stop())

    def consume_and_send_offsets(self, group: str, source: str, target: str, count: int) -> None:
        async def consumed() -> tuple[list[bytes], int]:
            async with _aiokafka_consumer(self._servers, "read_committed", group) as consumer:
                consumer.subscribe([source])
                values = [(await consumer.getone()).value for _ in range(count)]
                return values, await consumer.position(aiokafka.TopicPartition(source, 0))

        values, position = run(consumed())
        self.send(target, *values)
        offsets = {aiokafka.TopicPartition(source, 0): position}
        run(self._producer.send_offsets_to_transaction(offsets, group))


def _aiokafka_consumer(servers: str, isolation: str, group: str | None = None) -> aiokafka.AIOKafkaConsumer:
    return aiokafka.AIOKafkaConsumer(
        bootstrap_servers=servers,
        group_id=group,
        isolation_level=isolation,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        fetch_max_wait_ms=50,
    )


class Aiokafka(TransactionalClient):
    producer = AiokafkaProducer

    def end_offset(self, servers: str, topic: str, isolation: str) -> int:
        async def found() -> int:
            async with _aiokafka_consumer(servers, isolation) as consumer:
                (end,) = (await consumer.end_offsets([aiokafka.TopicPartition(topic, 0)])).values()
                return int(end)

        return run(found())

    def read(self, servers: str, topic: str, isolation: str, last: bytes) -> list[bytes]:
        async def values() -> list[bytes]:
            async with _aiokafka_consumer(servers, isolation) as consumer:
                consumer.assign([aiokafka.TopicPartition(topic, 0)])
                found: list[bytes] = []
                while found[-1:] != [last]:
                    found.append((await consumer.getone()).value)
                return found

        return run(values())

    def committed(self, servers: str, group: str, topic: str) -> int | None:
        async def found() -> int | None:
            async with _aiokafka_consumer(servers, "read_committed", group) as consumer:
                offset = await consumer.committed(aiokafka.TopicPartition(topic, 0))
                return None if offset is None else int(offset)

        return run(found())


CLIENTS: Final[dict[str, TransactionalClient]] = {
    "confluent-kafka": Confluent(),
    "aiokafka": Aiokafka(),
    "kafka-python": KafkaPython(),
}


@pytest.fixture(autouse=True)
def no_sockets_left() -> Iterator[None]:
    """kafka-python leaves sockets to the garbage collector: to be collected here, not in a later test."""
    yield
    gc.collect()


@pytest.fixture
def servers(bootstrap_servers: str) -> str:
    return bootstrap_servers


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> TransactionalClient:
    return CLIENTS[request.param]


@pytest.fixture
def topic(servers: str) -> str:
    """A topic of its own for each test."""
    name = f"transactions-{next(numbers)}"
    create_topic(servers, name, 1)
    return name


def end_of(client: TransactionalClient, servers: str, topic: str) -> list[int]:
    """Return where consumers of each isolation level end."""
    return [client.end_offset(servers, topic, isolation) for isolation in ISOLATION]


def test_an_aborted_transaction_is_read_uncommitted_alone(
    servers: str, client: TransactionalClient, topic: str
) -> None:
    producer = client.producer(servers, f"{topic}-writer")
    for name, end in (("a", producer.commit), ("b", producer.abort), ("c", producer.commit)):
        producer.begin()
        producer.send(topic, *(f"{name}{number}".encode() for number in range(3)))
        end()
    producer.close()
    assert client.read(servers, topic, "read_committed", b"c2") == [b"a0", b"a1", b"a2", b"c0", b"c1", b"c2"]
    assert len(client.read(servers, topic, "read_uncommitted", b"c2")) == 9


def test_an_open_transaction_holds_back_a_reader_of_committed_records(
    servers: str, client: TransactionalClient, topic: str
) -> None:
    producer = client.producer(servers, f"{topic}-writer")
    producer.begin()
    producer.send(topic, b"0", b"1")
    assert end_of(client, servers, topic) == [0, 2]
    producer.commit()
    for _ in attempts("the marker is written", seconds=SECONDS_MAX):
        if end_of(client, servers, topic) == [3, 3]:
            break
    producer.close()


def test_offsets_are_committed_with_the_transaction(servers: str, client: TransactionalClient, topic: str) -> None:
    target, group = f"{topic}-target", f"{topic}-group"
    create_topic(servers, target, 1)
    producer = client.producer(servers, f"{topic}-writer")
    producer.begin()
    producer.send(topic, b"0", b"1", b"2")
    producer.commit()
    producer.begin()
    producer.consume_and_send_offsets(group, topic, target, 3)
    producer.abort()
    assert client.committed(servers, group, topic) is None
    producer.begin()
    producer.consume_and_send_offsets(group, topic, target, 3)
    producer.commit()
    # The position of a consumer may be before or after the marker that follows the three records.
    for _ in attempts("the offsets are committed", seconds=SECONDS_MAX):
        if client.committed(servers, group, topic) in {3, 4}:
            break
    assert client.read(servers, target, "read_committed", b"2") == [b"0", b"1", b"2"]
    producer.close()


def test_a_second_producer_fences_the_first(servers: str, client: TransactionalClient, topic: str) -> None:
    zombie = client.producer(servers, f"{topic}-writer")
    zombie.begin()
    zombie.send(topic, b"of the zombie")
    successor = client.producer(servers, f"{topic}-writer")
    with pytest.raises(zombie.fenced, match=FENCED):
        zombie.commit()
    successor.begin()
    successor.send(topic, b"of the successor")
    successor.commit()
    assert client.read(servers, topic, "read_committed", b"of the successor") == [b"of the successor"]
    successor.close()
    zombie.close()


def test_a_transaction_times_out(servers: str, client: TransactionalClient, topic: str) -> None:
    producer = client.producer(servers, f"{topic}-writer", SHORT_TIMEOUT_MS)
    producer.begin()
    producer.send(topic, b"0")
    for _ in attempts("the transaction is aborted", seconds=SECONDS_MAX):
        if end_of(client, servers, topic) == [2, 2]:
            break
    with pytest.raises(producer.fenced, match=FENCED):
        producer.commit()
    producer.close()
