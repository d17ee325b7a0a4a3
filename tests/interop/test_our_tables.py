"""Tables of records sent to and read from real Kafka, by the column, with every codec."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from broker_client import Producer, TopicPartition
from broker_client.consumer import Consumer
from tests.interop.kafka_release import RELEASES
from tests.interop.real_kafka import real_kafka
from tests.interop.test_our_producer import CODECS, PARTITIONS, create

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.real_kafka import RealKafka

ROWS = 5_000


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    # The records are old: a broker looks for such 30 s after its start.
    with real_kafka(request.param, settings={"log.retention.ms": "-1"}) as cluster:
        yield cluster


@pytest.mark.parametrize("codec", CODECS)
def test_rows_are_at_the_offsets_of_their_responses(kafka: RealKafka, codec: str) -> None:
    servers, topic = kafka.bootstrap_servers, f"tables-{codec}"
    create(servers, topic, 1)
    headers = [[{"key": "h", "value": b"%d" % number}] if number % 3 else [] for number in range(ROWS)]
    rows = pa.table(
        {
            "value": [b"value %d" % number if number % 11 else None for number in range(ROWS)],
            "key": [b"key %d" % (number % 50) if number % 5 else None for number in range(ROWS)],
            "timestamp": [1_700_000_000_000 + number for number in range(ROWS)],
            "headers": pa.array(headers),
        }
    )
    with Producer(bootstrap_servers=servers, compression_type=codec) as producer:
        acknowledged = producer.send_batch(topic, rows).result(60)
    assert acknowledged["error"].null_count == ROWS
    keys = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    with Consumer(bootstrap_servers=servers) as consumer:
        consumer.assign(keys)
        ends = consumer.end_offsets(keys)
        tables = []
        while any((consumer.position(key) or 0) < ends[key] for key in keys):
            tables.append(consumer.poll_batch(1.0))
    stored = {(row["partition"], row["offset"]): row for row in pa.concat_tables(tables).to_pylist()}
    assert len(stored) == ROWS
    for place, row in zip(acknowledged.to_pylist(), rows.to_pylist(), strict=True):
        found = stored[place["partition"], place["offset"]]
        assert {name: found[name] for name in row} == row
