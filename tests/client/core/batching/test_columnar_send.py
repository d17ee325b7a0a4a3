"""Tables of records against a scripted cluster on virtual time: the records of rows, and the outcome of each."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.internet.defer import ensureDeferred

from broker_client.core.producer.producer_core import ProducerCore
from broker_client.errors import IllegalState, ProducerClosed, ProducerError, SerializationError
from broker_client.producer_config import ProducerConfig
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from sim_runtime.world import World
from tests.client.scripted_broker import Action, ScriptedCluster
from tests.client.scripted_coordinator import ScriptedCoordinator

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.producer.future_table import DeliveredRows

    ProducerOn = Callable[..., ProducerCore]

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
SCHEMA = pa.schema(
    [
        ("value", pa.binary()),
        ("key", pa.binary()),
        ("headers", HEADERS),
        ("timestamp", pa.int64()),
        ("partition", pa.int32()),
    ]
)


def sent(world: World, producer: ProducerCore, table: Any, topic: str = "orders") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = world.run_until(
        producer.send_batch(topic, table).as_deferred(), deadline_ms=200_000
    ).to_pylist()
    return rows


def values(*given: bytes | None) -> Any:
    return pa.table({"value": pa.array(given, pa.binary())})


def test_rows_become_records_with_all_of_their_columns(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    rows = [
        {"value": b"a", "key": b"k", "headers": [{"key": "h", "value": b"v"}], "timestamp": 5, "partition": 0},
        {"value": None, "key": None, "headers": None, "timestamp": 7, "partition": None},
    ]
    reported = sent(world, producer_on(cluster), pa.Table.from_pylist(rows, SCHEMA))
    assert reported == [
        {"partition": 0, "offset": 0, "timestamp": 5, "error": None},
        {"partition": 0, "offset": 1, "timestamp": 7, "error": None},
    ]
    stored = cluster.logs[TopicPartition("orders", 0)]
    assert [(r.key, r.value, list(r.headers), r.timestamp) for r in stored] == [
        (b"k", b"a", [("h", b"v")], 5),
        (None, None, [], 7),
    ]


def test_a_table_of_values_alone_gets_the_time_of_the_call(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster)
    world.run_for(ms=1_234)
    now = int(world.reactor.seconds() * 1000)
    reported = sent(world, producer, values(b"a", b"b"))
    assert [row["timestamp"] for row in reported] == [now, now]


def test_a_record_batch_and_text_and_chunks_will_do(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster)
    sent(world, producer, pa.RecordBatch.from_pydict({"value": ["x", "y"]}))
    chunked = pa.table({"value": pa.chunked_array([[b"1"], [b"2", None]], pa.large_binary())})
    sent(world, producer, chunked.slice(1))
    assert cluster.values("orders") == [b"x", b"y", b"2", None]


def test_no_rows_are_done_at_once(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    assert sent(world, producer_on(cluster), values()) == []


def test_rows_and_single_records_keep_the_order_of_their_calls(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, linger_ms=1_000)
    producer.send("orders", b"1")
    table = producer.send_batch("orders", values(b"2", b"3"))
    producer.send("orders", b"4")
    world.run_until(producer.flush())
    assert table.done()
    producer.send("orders", b"5")
    producer.send_batch("orders", values(b"6"))
    world.run_until(producer.flush())
    assert cluster.values("orders") == [b"1", b"2", b"3", b"4", b"5", b"6"]


def test_batches_are_sixteen_times_batch_size_and_sequences_go_on(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, batch_size=32)
    sent(world, producer, values(*[b"x" * 100] * 10))
    # Four records fit: 61 + 4 * 109 = 497 of 512 bytes.
    batches = [requested_apis.batches[TopicPartition("orders", 0)] for requested_apis in cluster.produced]
    assert [(batch.records_count, batch.base_sequence) for batch in batches] == [(4, 0), (4, 4), (2, 8)]


def test_a_row_larger_than_a_batch_goes_alone(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    given = [b"a", b"x" * 900, b"b"]
    reported = sent(world, producer_on(cluster, batch_size=20), values(*given))
    assert cluster.values("orders") == given
    assert [row["offset"] for row in reported] == [0, 1, 2]


def test_a_row_that_no_request_could_hold_fails_alone(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    reported = sent(world, producer_on(cluster, max_request_size=500), values(b"a", b"x" * 1_000, b"b"))
    assert cluster.values("orders") == [b"a", b"b"]
    assert [row["offset"] for row in reported] == [0, -1, 1]
    assert reported[1] == {
        "partition": -1,
        "offset": -1,
        "timestamp": -1,
        "error": "the record is 1086 bytes when serialized, max.request.size allows 500",
    }


def test_keyed_rows_that_no_request_could_hold_all_fail(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    table = pa.table({"key": [b"k", b"k"], "value": [b"x" * 1_000] * 2})
    reported = sent(world, producer_on(cluster, max_request_size=500), table)
    assert [row["offset"] for row in reported] == [-1, -1]
    assert all("max.request.size allows 500" in row["error"] for row in reported)


def test_a_table_larger_than_the_memory_goes_in_parts(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, buffer_memory=2_000, batch_size=500)
    cluster.default = Action(appends=True, delay_ms=50)
    future = producer.send_batch("orders", values(*[b"%03d" % n * 30 for n in range(200)]))
    behind = producer.send("orders", b"behind")
    world.run_for(ms=30)
    assert producer.pool.available_bytes < 500
    reported = world.run_until(future.as_deferred(), deadline_ms=200_000)
    world.run_until(behind.as_deferred(), deadline_ms=200_000)
    assert reported["offset"].to_pylist() == list(range(200))
    assert cluster.values("orders")[-1] == b"behind"


def test_a_table_that_waits_too_long_for_memory_fails(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, buffer_memory=1_000, batch_size=500, max_block_ms=100)
    sent(world, producer, values(b"first"))
    cluster.default = Action(appends=True, delay_ms=400)
    reported = sent(world, producer, values(*[b"x" * 100] * 20))
    assert [row["error"] is None for row in reported] == [True] * 8 + [False] * 12
    assert reported[8]["error"].startswith("failed to allocate 497 bytes within 100 ms")


def test_a_topic_that_is_not_there_fails_every_row(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, max_block_ms=200)
    reported = sent(world, producer, values(b"a", b"b"), "nowhere")
    assert [row["partition"] for row in reported] == [-1, -1]
    assert "topic 'nowhere' not present in metadata after 200 ms" in reported[0]["error"]
    requested_apis = pa.table({"value": ["a"], "partition": [9]})
    reported = sent(world, producer, requested_apis)
    assert "partition 9 of topic 'orders' with partition count 1" in reported[0]["error"]


def test_retries_and_splits_lose_no_row(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    producer = producer_on(cluster, batch_size=700)
    sent(world, producer, values(b"first"))
    cluster.script.extend([Action(error=ErrorCode.NOT_ENOUGH_REPLICAS), Action(error=ErrorCode.MESSAGE_TOO_LARGE)])
    given = [b"%04d" % n * 25 for n in range(300)]
    reported = sent(world, producer, values(*given))
    assert cluster.values("orders") == [b"first", *given]
    assert [row["offset"] for row in reported] == list(range(1, 301))


def test_each_row_is_delivered_once_with_those_of_its_batch(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, batch_size=700, max_request_size=6_000)
    sent(world, producer, values(b"first"))
    delivered: list[DeliveredRows] = []
    cluster.script.append(Action(error=ErrorCode.MESSAGE_TOO_LARGE))
    cluster.script.extend([Action(error=ErrorCode.INVALID_RECORD), Action()])
    table = pa.table({"value": [*(b"%04d" % n * 25 for n in range(30)), b"x" * 7_000], "timestamp": range(31)})
    reported = producer.send_batch("orders", table, delivered.append)
    found = world.run_until(reported.as_deferred(), deadline_ms=200_000).to_pylist()
    assert sorted(row for each in delivered for row in each.rows.tolist()) == list(range(31))
    assert len(delivered) > 3
    for each in delivered:
        errors = [None] * len(each.rows) if each.errors is None else [str(error) for error in each.errors]
        for row, offset, timestamp, error in zip(each.rows, each.offsets, each.timestamps_ms, errors, strict=True):
            expected = {"partition": each.partition, "offset": offset, "timestamp": timestamp, "error": error}
            assert found[row] == expected
    assert {error is None for error in (row["error"] for row in found)} == {True, False}


def test_rows_of_a_failed_batch_have_its_error(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    cluster.script.append(Action(error=ErrorCode.INVALID_RECORD, record_errors={1: "bad"}))
    reported = sent(world, producer_on(cluster), values(b"a", b"b", b"c"))
    assert [row["offset"] for row in reported] == [-1, -1, -1]
    assert [row["partition"] for row in reported] == [0, 0, 0]
    assert reported[1]["error"] == "INVALID_RECORD: bad"
    assert "one or more invalid records" in reported[0]["error"]


def test_queued_rows_expire(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    producer = producer_on(cluster, delivery_timeout_ms=1_000, request_timeout_ms=500, linger_ms=0)
    sent(world, producer, values(b"first"))
    cluster.default = Action(responds=False)
    reported = sent(world, producer, values(b"late"))
    assert "1 record(s) for orders-0" in reported[0]["error"]
    world.run_for(ms=1_000)


def test_close_fails_a_table_that_waits(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    producer = producer_on(cluster)
    waiting = producer.send_batch("nowhere", values(b"a"))
    world.run_until(producer.close())
    assert "closed while a send was in progress" in waiting.result(0)["error"][0].as_py()
    with pytest.raises(ProducerClosed):
        producer.send_batch("orders", values(b"a"))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"value": [b"a"]}, "takes a pyarrow Table or RecordBatch, not dict"),
        (pa.table({"key": [b"a"]}), "has no column 'value'"),
        (pa.table({"value": [b"a"], "keys": [b"a"]}), "column 'keys' is no part of a record.*did you mean 'key'"),
        (pa.table({"value": [1]}), "column value has the type int64, not binary or string"),
        (pa.table({"value": ["a"], "timestamp": ["b"]}), "column timestamp has the type string"),
        (pa.table({"value": ["a"], "partition": ["b"]}), "column partition has the type string, not int32"),
        (pa.table({"value": ["a"], "headers": ["b"]}), "column headers has the type string, not a list of structs"),
    ],
)
def test_a_table_that_is_none_of_records_is_refused(
    cluster: ScriptedCluster, producer_on: ProducerOn, table: Any, words: str
) -> None:
    with pytest.raises(SerializationError, match=words):
        producer_on(cluster).send_batch("orders", table)


def test_negative_numbers_are_refused_with_their_row(cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    producer = producer_on(cluster)
    with pytest.raises(ProducerError, match="timestamp -3 in row 1"):
        producer.send_batch("orders", pa.table({"value": ["a", "b"], "timestamp": [1, -3]}))
    with pytest.raises(ProducerError, match="partition -1 in row 0"):
        producer.send_batch("orders", pa.table({"value": ["a"], "partition": [-1]}))


def test_serializers_and_interceptors_are_not_for_columns(cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    class Interceptor:
        def on_send(self, record: Any) -> Any:
            return record

    with pytest.raises(SerializationError, match=r"calls no value\.serializer"):
        producer_on(cluster, value_serializer=str.encode).send_batch("orders", values(b"a"))
    with pytest.raises(SerializationError, match=r"calls no interceptor\.classes"):
        producer_on(cluster, interceptor_classes=[Interceptor()]).send_batch("orders", values(b"a"))


def test_a_table_joins_the_transaction(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    coordinator = ScriptedCoordinator(cluster, transaction_version=1)
    producer = producer_on(cluster, transactional_id="t", max_request_size=500)
    with pytest.raises(IllegalState, match="init_transactions first"):
        producer.send_batch("orders", values(b"a"))
    world.run_until(ensureDeferred(producer.transactional.init_transactions()), deadline_ms=200_000)
    producer.transactional.begin_transaction()
    assert [row["error"] for row in sent(world, producer, values(b"a", b"b"))] == [None, None]
    world.run_until(ensureDeferred(producer.transactional.commit_transaction()), deadline_ms=200_000)
    assert "AddPartitionsToTxn" in coordinator.requested
    assert cluster.produced[0].batches[TopicPartition("orders", 0)].is_transactional
    producer.transactional.begin_transaction()
    sent(world, producer, values(b"x" * 1_000))
    with pytest.raises(ProducerError, match=r"max\.request\.size"):
        world.run_until(ensureDeferred(producer.transactional.commit_transaction()), deadline_ms=200_000)


def test_a_partitioner_is_called_for_every_row(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    class ByLength:
        def partition(self, topic: str, key: bytes | None, value: bytes | None, cluster: Any) -> int:  # noqa: ARG002
            return len(value or b"") % cluster.partition_count(topic)

    cluster.create("three", partitions=3)
    reported = sent(
        world, producer_on(cluster, partitioner_class=ByLength()), values(b"", b"a", b"bb", b"ccc"), "three"
    )
    assert [row["partition"] for row in reported] == [0, 1, 2, 0]


def test_rows_without_a_key_are_spread_by_batch_size(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    cluster.create("three", partitions=3)
    reported = sent(world, producer_on(cluster, batch_size=62), values(*[b"x" * 100] * 900), "three")
    counts = [sum(row["partition"] == number for row in reported) for number in range(3)]
    assert min(counts) > 150


@st.composite
def _rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    content = st.none() | st.binary(max_size=20) | st.integers(0, 300).map(bytes)
    header = st.fixed_dictionaries({"key": st.text(max_size=3), "value": content})
    keyed, placed, timed = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    row = st.fixed_dictionaries(
        {
            "value": content,
            "key": content if keyed else st.none(),
            "headers": st.lists(header, max_size=2),
            "timestamp": st.integers(0, 1 << 40) if timed else st.just(5),
            "partition": st.none() | st.integers(0, 2) if placed else st.none(),
        }
    )
    return draw(st.lists(row, max_size=40))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=_rows(),
    batch_size=st.sampled_from([0, 10, 30, 16_384]),
    codec=st.sampled_from(["none", "gzip"]),
    partitions=st.sampled_from([1, 3]),
)
def test_what_a_table_stores_is_what_its_rows_store_one_by_one(
    rows: list[dict[str, Any]], batch_size: int, codec: str, partitions: int
) -> None:
    """Exact for rows that name their partition; rows that are spread are all there, and in order."""
    for row in rows:
        row["partition"] = None if row["partition"] is None else min(row["partition"], partitions - 1)
    stored = []
    for by_column in (True, False):
        world = World(7)
        cluster = ScriptedCluster(world)
        cluster.create("t", partitions=partitions)
        given = {"bootstrap_servers": cluster.bootstrap_servers, "batch_size": batch_size, "compression_type": codec}
        producer = ProducerCore(ProducerConfig(given), cluster.client, world.streams.stream("producer"))
        if by_column:
            reported = sent(world, producer, pa.Table.from_pylist(rows, SCHEMA), "t")
            for row, place in zip(rows, reported, strict=True):
                record = cluster.logs[TopicPartition("t", place["partition"])][place["offset"]]
                assert (record.value, record.key) == (row["value"], row["key"])
        else:
            for row in rows:
                headers = [(header["key"], header["value"]) for header in row["headers"]]
                producer.send("t", row["value"], row["key"], row["partition"], headers, row["timestamp"])
            world.run_until(producer.flush(), deadline_ms=200_000)
        world.run_until(producer.close())
        assert producer.pool.available_bytes == producer.pool.memory_bytes
        stored.append(
            [
                [
                    (r.key, r.value, list(r.headers), r.timestamp)
                    for r in cluster.logs.get(TopicPartition("t", number), [])
                ]
                for number in range(partitions)
            ]
        )
    columnar, single = stored
    if partitions == 1 or all(row["partition"] is not None or row["key"] is not None for row in rows):
        assert columnar == single
        return
    assert sorted(map(repr, chain(*columnar))) == sorted(map(repr, chain(*single)))
