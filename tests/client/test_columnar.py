"""Tables through the threaded APIs, on real sockets: sent, acknowledged, and read back by column."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from broker_client import Producer, TopicPartition
from broker_client.consumer import Consumer, FetchOptions
from broker_client.errors import ProducerClosed
from broker_sim.threaded_cluster import ThreadedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=2, topics=["rows:3:1", "one:1:1", "mixed:1:1"]) as running:
        yield running


def read_table(cluster: ThreadedCluster, topic: str, partitions: int = 1) -> Any:
    keys = [TopicPartition(topic, partition) for partition in range(partitions)]
    with Consumer(bootstrap_servers=cluster.bootstrap_servers, fetch=FetchOptions()) as consumer:
        consumer.assign(keys)
        ends = consumer.end_offsets(keys)
        tables = []
        while any((consumer.position(key) or 0) < ends[key] for key in keys):
            tables.append(consumer.poll_batch(1.0))
        return pa.concat_tables(tables)


def test_a_table_is_sent_and_read_back(cluster: ThreadedCluster) -> None:
    count = 5_000
    table = pa.table(
        {
            "value": [b"value %d" % number if number % 7 else None for number in range(count)],
            "key": [b"key %d" % (number % 10) for number in range(count)],
            "timestamp": list(range(count)),
            "headers": pa.array([[{"key": "h", "value": b"%d" % number}] for number in range(count)]),
        }
    )
    # Less memory than the table needs: it is sent in parts.
    with Producer(bootstrap_servers=cluster.bootstrap_servers, buffer_memory=40_000, batch_size=4_000) as producer:
        results = producer.send_batch("rows", table).result(30)
    assert results["error"].null_count == count
    stored = {(row["partition"], row["offset"]): row for row in read_table(cluster, "rows", 3).to_pylist()}
    assert len(stored) == count
    for place, row in zip(results.to_pylist(), table.to_pylist(), strict=True):
        found = stored[place["partition"], place["offset"]]
        assert {name: found[name] for name in row} == row
        assert found["topic"] == "rows"


def test_tables_of_many_threads_arrive_complete_and_in_order(cluster: ThreadedCluster) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers, batch_size=100) as producer:

        def send(thread: int) -> None:
            for number in range(20):
                values = [b"%d-%02d-%02d" % (thread, number, row) for row in range(50)]
                producer.send_batch("one", pa.table({"value": values}))

        threads = [threading.Thread(target=send, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    values = read_table(cluster, "one")["value"].to_pylist()
    assert len(values) == 3_000
    for thread in range(3):
        mine = [value for value in values if value.startswith(b"%d-" % thread)]
        assert mine == sorted(mine)


def test_a_callback_may_send_a_table(cluster: ThreadedCluster) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        chained: list[Any] = []
        table = pa.table({"value": ["from a callback"]})
        producer.send("mixed", b"1", on_delivery=lambda *_: chained.append(producer.send_batch("mixed", table)))
        producer.flush()
        assert chained[0].result(10)["offset"].to_pylist() == [1]


def test_a_closed_producer_refuses_tables(cluster: ThreadedCluster) -> None:
    producer = Producer(bootstrap_servers=cluster.bootstrap_servers)
    producer.close()
    with pytest.raises(ProducerClosed, match="cannot send_batch"):
        producer.send_batch("one", pa.table({"value": ["late"]}))


def test_an_empty_poll_is_an_empty_table(cluster: ThreadedCluster) -> None:
    with Consumer(bootstrap_servers=cluster.bootstrap_servers) as consumer:
        consumer.assign([TopicPartition("mixed", 0)])
        consumer.seek(TopicPartition("mixed", 0), consumer.end_offsets([("mixed", 0)])["mixed", 0])  # type: ignore[list-item, index]
        table = consumer.poll_batch(0.01)
    assert table.num_rows == 0
    assert table.schema.names == ["topic", "partition", "offset", "timestamp", "key", "value", "headers"]
