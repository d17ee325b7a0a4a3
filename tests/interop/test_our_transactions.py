"""Our producer's transactions against real Kafka, before KIP-890 and with it; read back by librdkafka's consumer."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer as LibrdkafkaConsumer
from confluent_kafka import TopicPartition as LibrdkafkaPartition

from broker_client import Producer, TopicPartition
from broker_client.admin import Admin, TransactionState
from broker_client.errors import BrokerError, ProducerError
from broker_client.transaction_errors import ProducerFenced, TransactionAborted
from protocol_specs.error_codes import ErrorCode
from tests.differential.probe import attempts
from tests.interop.kafka_release import RELEASES
from tests.interop.real_kafka import real_kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.real_kafka import RealKafka

SETTINGS = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
}
PARTITIONS = 2
TRANSACTIONS = 40
RESULT_SECONDS_MAX = 30


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    with real_kafka(request.param, settings=SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def topic(kafka: RealKafka) -> str:
    name = f"topic-{uuid.uuid4().hex[:8]}"
    with Admin(bootstrap_servers=kafka.bootstrap_servers) as admin:
        admin.create_topic(name, partitions=PARTITIONS, replication_factor=1)
    return name


def producer_on(kafka: RealKafka, name: str, **options: Any) -> Producer:
    return Producer(bootstrap_servers=kafka.bootstrap_servers, transactional_id=f"id of {name}", **options)


def await_abort(kafka: RealKafka, topic: str) -> None:
    """Wait until the coordinator has ended the transaction of `producer_on` after its time."""
    name = f"id of {topic}"
    with Admin(bootstrap_servers=kafka.bootstrap_servers) as admin:
        for _ in attempts(f"the transaction of {name} to be aborted"):
            if admin.describe_transactions([name])[name].state is TransactionState.COMPLETE_ABORT:
                return


def read(kafka: RealKafka, topic: str, isolation_level: str = "read_committed") -> list[bytes]:
    """Everything up to what was the end when it is read: read_committed ends at the first open transaction."""
    consumer = LibrdkafkaConsumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "reader",
            "isolation.level": isolation_level,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    values: list[bytes] = []
    ended = 0
    try:
        consumer.assign([LibrdkafkaPartition(topic, number, 0) for number in range(PARTITIONS)])
        while ended < PARTITIONS:
            message = consumer.poll(30)
            assert message is not None, "the consumer did not come to the end"
            if message.error() is None:
                values.append(message.value())
            else:
                ended += 1
    finally:
        consumer.close()
    return sorted(values)


def test_only_what_was_committed_is_read(kafka: RealKafka, topic: str) -> None:
    with producer_on(kafka, topic) as producer:
        producer.init_transactions()
        for outcome in ("committed", "aborted"):
            producer.begin_transaction()
            for number in range(100):
                producer.send(topic, f"{outcome} {number:02}".encode(), partition=number % PARTITIONS)
            if outcome == "committed":
                producer.commit_transaction()
            else:
                producer.flush()
                producer.abort_transaction()
        producer.begin_transaction()
        producer.send(topic, b"open", partition=0).result(RESULT_SECONDS_MAX)
        assert read(kafka, topic) == [b"committed %02d" % number for number in range(100)]
        assert len(read(kafka, topic, "read_uncommitted")) == 201
    assert b"open" not in read(kafka, topic)  # close has aborted it


def test_what_an_abort_finds_unsent_is_never_written(kafka: RealKafka, topic: str) -> None:
    with producer_on(kafka, topic, linger_ms=60_000) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        future = producer.send(topic, b"never")
        producer.abort_transaction()
        with pytest.raises(TransactionAborted):
            future.result(RESULT_SECONDS_MAX)
    assert read(kafka, topic, "read_uncommitted") == []


def test_many_transactions_keep_their_promises(kafka: RealKafka, topic: str) -> None:
    with producer_on(kafka, topic) as producer:
        producer.init_transactions()
        for number in range(TRANSACTIONS):
            producer.begin_transaction()
            for partition in range(PARTITIONS):
                producer.send(topic, b"%03d" % number, partition=partition)
            if number % 3:
                producer.commit_transaction()
            else:
                producer.abort_transaction()
    expected = [b"%03d" % number for number in range(TRANSACTIONS) if number % 3 for _ in range(PARTITIONS)]
    assert read(kafka, topic) == expected


def test_a_second_producer_fences_the_first_and_aborts_its_transaction(kafka: RealKafka, topic: str) -> None:
    with producer_on(kafka, topic) as first, producer_on(kafka, topic) as second:
        first.init_transactions()
        first.begin_transaction()
        first.send(topic, b"of the first").result(RESULT_SECONDS_MAX)
        second.init_transactions()
        second.begin_transaction()
        second.send(topic, b"of the second")
        second.commit_transaction()
        with pytest.raises(ProducerFenced):
            first.commit_transaction()
        with pytest.raises(ProducerFenced):
            first.begin_transaction()
        with pytest.raises(ProducerFenced):
            first.send(topic, b"too late")
    assert read(kafka, topic) == [b"of the second"]


def test_a_vanished_producer_blocks_no_other_after_the_next_began(kafka: RealKafka, topic: str) -> None:
    vanished = producer_on(kafka, topic)
    vanished.init_transactions()
    vanished.begin_transaction()
    vanished.send(topic, b"left behind", partition=0).result(RESULT_SECONDS_MAX)
    vanished.close(0)
    with producer_on(kafka, topic) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"taken over", partition=0)
        producer.commit_transaction()
    assert read(kafka, topic) == [b"taken over"]


@pytest.mark.parametrize("committed", [True, False], ids=["commit", "abort"])
def test_offsets_are_committed_with_the_transaction_or_not_at_all(
    kafka: RealKafka, topic: str, committed: bool
) -> None:
    group = f"group of {topic}"
    consumer = LibrdkafkaConsumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": group})
    try:
        with producer_on(kafka, topic) as producer:
            producer.init_transactions()
            producer.begin_transaction()
            producer.send(topic, b"result")
            producer.send_offsets_to_transaction({TopicPartition(topic, 0): 17}, group)
            if committed:
                producer.commit_transaction()
            else:
                producer.abort_transaction()
        (committed_offset,) = consumer.committed([LibrdkafkaPartition(topic, 0)], timeout=30)
        assert committed_offset.offset == (17 if committed else -1001)
    finally:
        consumer.close()
    assert read(kafka, topic) == ([b"result"] if committed else [])


def test_a_transaction_that_takes_too_long_is_aborted_by_its_coordinator(kafka: RealKafka, topic: str) -> None:
    with producer_on(kafka, topic, transaction_timeout_ms=2_000) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"too slow").result(RESULT_SECONDS_MAX)
        await_abort(kafka, topic)
        with pytest.raises(BrokerError) as caught:
            producer.commit_transaction()
        # By an epoch of its own that fences us, or, with KIP-890, by ending it under ours.
        fenced = kafka.release == "3.7.2"
        assert caught.value.error_code is (ErrorCode.PRODUCER_FENCED if fenced else ErrorCode.INVALID_TXN_STATE)
    with producer_on(kafka, topic) as producer:
        producer.init_transactions()
    assert read(kafka, topic) == []


def test_a_timeout_that_the_broker_does_not_allow_is_refused(kafka: RealKafka, topic: str) -> None:
    with (
        producer_on(kafka, topic, transaction_timeout_ms=3_600_000) as producer,
        pytest.raises(ProducerError) as caught,
    ):
        producer.init_transactions()
    assert caught.value.error_code is ErrorCode.INVALID_TRANSACTION_TIMEOUT


def test_a_failed_record_costs_its_transaction_and_no_other(kafka: RealKafka, topic: str) -> None:
    with Admin(bootstrap_servers=kafka.bootstrap_servers) as admin:
        admin.create_topic(f"{topic}-small", partitions=1, replication_factor=1, configs={"max.message.bytes": "500"})
    with producer_on(kafka, topic) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"with a failed one").result(RESULT_SECONDS_MAX)
        with pytest.raises(BrokerError, match="MESSAGE_TOO_LARGE"):
            producer.send(f"{topic}-small", b"x" * 1_000).result(RESULT_SECONDS_MAX)
        producer.abort_transaction()
        producer.begin_transaction()
        producer.send(topic, b"after it")
        producer.commit_transaction()
    assert read(kafka, topic) == [b"after it"]
