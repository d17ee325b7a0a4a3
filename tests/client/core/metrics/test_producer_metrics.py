"""A producer's metrics, on virtual time against a scripted cluster: every number follows from the script."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from twisted.internet.defer import Deferred

from broker_client.errors import ProducerError
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from tests.client.scripted_broker import Action, ScriptedCluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.producer.future_record_metadata import FutureRecordMetadata
    from broker_client.core.producer.future_table import FutureTable
    from broker_client.core.producer.producer_core import ProducerCore
    from sim_runtime.world import World

    ProducerOn = Callable[..., ProducerCore]

ORDERS = TopicPartition("orders", 0)
MS_IN_NS = 1_000_000


def ended(world: World, *futures: FutureRecordMetadata) -> list[bool]:
    """True if each of them has succeeded."""
    outcomes = []
    for future in futures:
        try:
            world.run_until(future.as_deferred(), deadline_ms=200_000)
            outcomes.append(True)
        except ProducerError:
            outcomes.append(False)
    return outcomes


def _ended_table(table: FutureTable) -> Deferred[None]:
    done: Deferred[None] = Deferred()
    table.add_done_callback(lambda _: done.callback(None))
    return done


def test_retries_and_errors_count_records(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    producer = producer_on(cluster, linger_ms=1)
    cluster.script.extend([Action(error=ErrorCode.NOT_ENOUGH_REPLICAS), Action(error=ErrorCode.INVALID_RECORD)])
    sent = [producer.send("orders", b"x", partition=0) for _ in range(3)]
    assert ended(world, *sent) == [False] * 3
    assert ended(world, producer.send("orders", b"y", partition=0)) == [True]
    read = producer.metrics.read()
    assert read["record-send-total"] == 7  # three of them twice
    assert read["record-retry-total"] == read["record-error-total"] == 3
    assert read.value("record-retry-total", topic="orders") == read.value("record-error-total", topic="orders") == 3
    assert read["records-per-request-avg"] == pytest.approx(7 / 3)
    assert read["record-send-rate"] == pytest.approx(7 / 30, rel=0.1)  # of a window that counts as over


def test_a_split_is_counted_once(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    producer = producer_on(cluster, linger_ms=1)
    cluster.script.append(Action(error=ErrorCode.MESSAGE_TOO_LARGE))
    sent = [producer.send("orders", bytes(5_000), partition=0) for _ in range(3)]
    assert ended(world, *sent) == [True] * 3
    assert producer.metrics.read()["batch-split-total"] == 1


def test_latency_is_recorded_for_the_producer_and_the_node(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, linger_ms=0)
    ended(world, producer.send("orders", b"x", partition=0))
    cluster.script.append(Action(appends=True, delay_ms=500))
    ended(world, producer.send("orders", b"x", partition=0))
    read = producer.metrics.read()
    assert 500 <= read["request-latency-max"] < 520
    of_nodes = [one.value for one in read.find("request-latency-max", group="producer-node-metrics")]
    assert read["request-latency-max"] in of_nodes


def test_a_throttle_is_averaged_over_all_responses(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, linger_ms=0)
    ended(world, producer.send("orders", b"x", partition=0))
    assert producer.metrics.read()["produce-throttle-time-max"] == 0
    cluster.script.append(Action(appends=True, throttle_ms=300))
    ended(world, producer.send("orders", b"x", partition=0))
    read = producer.metrics.read()
    assert read["produce-throttle-time-max"] == 300
    assert read["produce-throttle-time-avg"] == pytest.approx(300 / read["response-total"])


def test_a_batch_that_lingers_spends_that_time_in_the_queue(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, linger_ms=0)
    ended(world, producer.send("orders", b"x", partition=0))
    lingering = producer_on(cluster, linger_ms=250)
    ended(world, lingering.send("orders", b"x", partition=0))
    assert 250 <= lingering.metrics.read()["record-queue-time-max"] < 260


def test_a_table_is_measured_as_the_same_records_are(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    values = [b"x" * size for size in (10, 1_000, 100)]
    by_row, by_table = producer_on(cluster, linger_ms=1), producer_on(cluster, linger_ms=1)
    ended(world, *[by_row.send("orders", value, partition=0, timestamp_ms=7) for value in values])
    table = pa.table({"value": values, "partition": [0] * 3, "timestamp": [7] * 3})
    world.run_until(_ended_table(by_table.send_batch("orders", table)))
    for name in ("record-size-max", "record-size-avg", "batch-size-max", "record-send-total", "compression-rate-avg"):
        assert by_table.metrics.read()[name] == by_row.metrics.read()[name], name


def test_waits_for_memory_are_measured_and_their_end_is_counted(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, linger_ms=0, buffer_memory=1_000, batch_size=1_000, max_block_ms=2_000)
    ended(world, producer.send("orders", b"x", partition=0))
    before = producer.metrics.read()
    cluster.script.append(Action(appends=True, delay_ms=5_000))
    producer.send("orders", b"x", partition=0)
    world.run_for(ms=100)
    late = producer.send("orders", b"y", partition=0)
    assert producer.metrics.read()["waiting-threads"] == 1
    assert ended(world, late) == [False]
    read = producer.metrics.read()
    assert read["buffer-exhausted-total"] == 1
    assert read["record-error-total"] == before["record-error-total"] + 1
    assert read["bufferpool-wait-time-ns-total"] == pytest.approx(2_000 * MS_IN_NS, rel=0.01)
    assert read["bufferpool-wait-ratio"] == pytest.approx(2 / 32, rel=0.1)


def test_calls_that_wait_take_the_time_that_they_take(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, linger_ms=10_000)
    world.run_until(producer.partitions_for("orders"))
    assert producer.metrics.read()["metadata-wait-time-ns-total"] > 0
    cluster.script.append(Action(appends=True, delay_ms=300))
    producer.send("orders", b"x", partition=0)
    world.run_until(producer.flush())
    assert 300 * MS_IN_NS <= producer.metrics.read()["flush-time-ns-total"] < 320 * MS_IN_NS


def test_the_age_of_metadata_is_in_seconds(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    producer = producer_on(cluster)
    world.run_until(producer.partitions_for("orders"))
    world.run_for(ms=5_000)
    assert producer.metrics.read()["metadata-age"] == pytest.approx(5, abs=0.1)


def test_the_loops_wait_is_the_time_between_its_turns(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, linger_ms=0)
    world.run_for(ms=1_000)
    ended(world, producer.send("orders", b"x", partition=0))
    read = producer.metrics.read()
    assert read["io-wait-time-ns-total"] == pytest.approx(1_000 * MS_IN_NS, rel=0.1)
    assert read["io-time-ns-total"] == 0  # on virtual time a turn takes none
    assert read["connection-creation-total"] == read["connection-count"] == 2
