"""The records of real Kafka's internal topics and metadata log: read by our schemas, written back byte for byte."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, Producer

from protocol_specs.message import Kind
from protocol_specs.records.record_batch import Record, iterate_batches, read_records
from protocol_specs.schemas.record_serde import (
    Log,
    decode_key,
    decode_metadata_record,
    decode_value,
    encode_key,
    encode_metadata_record,
    encode_value,
)
from tests.interop.kafka_release import RELEASES
from tests.interop.real_kafka import real_kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.real_kafka import RealKafka

DEADLINE_SECONDS = 60


@pytest.fixture(scope="module", params=RELEASES)
def used_cluster(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    """A cluster with a transaction, and groups of each protocol that the release has on, that have committed."""
    with real_kafka(request.param) as cluster:
        write_in_a_transaction(cluster.bootstrap_servers)
        for protocol in ("classic", "consumer") if request.param.startswith("4.") else ("classic",):
            read_and_commit(cluster.bootstrap_servers, protocol)
        yield cluster


def write_in_a_transaction(bootstrap_servers: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": "orders-writer", "log_level": 0})
    producer.init_transactions(DEADLINE_SECONDS)
    producer.begin_transaction()
    producer.produce("orders", b"value")
    producer.commit_transaction(DEADLINE_SECONDS)


def read_and_commit(bootstrap_servers: str, protocol: str) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": f"readers-{protocol}",
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    consumer.subscribe(["orders"])
    message = consumer.poll(DEADLINE_SECONDS)
    assert message is not None
    assert message.error() is None
    consumer.commit(asynchronous=False)
    consumer.close()


def records(cluster: RealKafka, log: Log) -> Iterator[Record]:
    for path in cluster.log_files(log.value):
        for header, batch in iterate_batches(path.read_bytes()):
            if not header.is_control:
                yield from read_records(batch)


@pytest.mark.parametrize("log", [Log.CONSUMER_OFFSETS, Log.TRANSACTION_STATE])
def test_coordinator_records_come_back_byte_for_byte(used_cluster: RealKafka, log: Log) -> None:
    seen: Counter[str] = Counter()
    for record in records(used_cluster, log):
        assert record.key is not None
        key = decode_key(log, record.key)
        assert encode_key(key) == record.key
        if record.value is not None:
            value, version = decode_value(log, key.RECORD_TYPE, record.value)
            assert encode_value(value, version) == record.value
            assert value.KIND is Kind.COORDINATOR_VALUE
            seen[type(value).__name__] += 1
    expected = {
        Log.CONSUMER_OFFSETS: {"OffsetCommitValue", "GroupMetadataValue"},
        Log.TRANSACTION_STATE: {"TransactionLogValue"},
    }
    assert set(seen) >= expected[log]


def test_metadata_records_come_back_byte_for_byte(used_cluster: RealKafka) -> None:
    seen: Counter[str] = Counter()
    for record in records(used_cluster, Log.CLUSTER_METADATA):
        assert record.value is not None
        message, version = decode_metadata_record(Log.CLUSTER_METADATA, record.value)
        assert encode_metadata_record(message, version) == record.value
        seen[type(message).__name__] += 1
    assert set(seen) >= {"FeatureLevelRecord", "RegisterBrokerRecord", "TopicRecord", "PartitionRecord", "NoOpRecord"}
