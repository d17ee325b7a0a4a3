"""Defects that the producer's state machine has found, each as a run of a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_client.errors import BatchExpired, ProducerClosed
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from tests.client.scripted_broker import Action, ScriptedCluster
from tests.client.watched_producer import WatchedCluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.producer.producer_core import ProducerCore
    from sim_runtime.world import World

    ProducerOn = Callable[..., ProducerCore]


def try_append(core: ProducerCore, partition: int | None, value: bytes = b"v") -> Any:
    return core.try_append("orders", partition, None, None, value, (), None)


def test_who_waits_for_a_partition_is_turned_away_by_close(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    core = producer_on(cluster)
    world.run_until(core.partitions_for("orders"))
    world.run_until(core.close(0))
    with pytest.raises(ProducerClosed):
        try_append(core, 7)


def expired_in_flight(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> ProducerCore:
    """A producer whose second batch waited for the first one's response, and so expires before its request does."""
    cluster.script.extend([Action(appends=True, delay_ms=800), Action(appends=True, delay_ms=800)])
    options = {"linger_ms": 0, "request_timeout_ms": 1_000, "delivery_timeout_ms": 1_000}
    core = producer_on(cluster, max_in_flight_requests_per_connection=1, **options)
    world.run_until(core.partitions_for("orders"))
    core.send("orders", b"first")
    world.run_for(ms=1)
    second = core.send("orders", b"second")
    world.run_for(ms=1_001)
    assert isinstance(second.exception(0), BatchExpired)
    return core


def test_memory_of_a_batch_that_expired_in_flight_comes_back_with_its_response(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    core = expired_in_flight(world, cluster, producer_on)
    assert core.pool.available_bytes == core.pool.memory_bytes - core.pool.poolable_size_bytes
    world.run_for(ms=700)
    assert core.pool.available_bytes == core.pool.memory_bytes


def test_memory_of_a_batch_that_expired_in_flight_comes_back_with_the_end_of_the_producer(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    core = expired_in_flight(world, cluster, producer_on)
    world.run_until(core.close(0))
    assert core.pool.available_bytes == core.pool.memory_bytes


def test_a_fatal_error_fails_at_once_what_waits_for_its_retry(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    cluster.create("shipments")
    cluster.script.extend(
        [Action(error=ErrorCode.NOT_ENOUGH_REPLICAS), Action(error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)]
    )
    core = producer_on(cluster, linger_ms=0, retry_backoff_ms=500)
    for topic in ("orders", "shipments"):
        world.run_until(core.partitions_for(topic))
    retried = core.send("orders", b"v")
    world.run_for(ms=100)
    fatal = core.send("shipments", b"v")
    world.run_for(ms=100)
    for future in (retried, fatal):
        error = future.exception(0)
        assert error is not None
        assert error.error_code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_memory_of_a_batch_in_flight_is_kept_when_a_fatal_error_fails_it(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    cluster.create("shipments")
    cluster.script.extend(
        [Action(error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, delay_ms=100), Action(appends=True, delay_ms=300)]
    )
    core = producer_on(cluster, linger_ms=0)
    for topic in ("orders", "shipments"):
        world.run_until(core.partitions_for(topic))
    core.send("orders", b"v")
    world.run_for(ms=1)
    in_flight = core.send("shipments", b"v")
    world.run_for(ms=150)
    error = in_flight.exception(0)
    assert error is not None
    assert error.maybe_written
    assert core.pool.available_bytes == core.pool.memory_bytes - core.pool.poolable_size_bytes
    world.run_for(ms=200)
    assert core.pool.available_bytes == core.pool.memory_bytes


def test_a_batch_that_a_fatal_error_has_failed_in_flight_does_not_expire(world: World, producer_on: ProducerOn) -> None:
    cluster = ScriptedCluster(world, brokers=2)
    for topic, leader in (("orders", 1), ("shipments", 2)):
        cluster.create(topic)
        cluster.move_leader(TopicPartition(topic, 0), leader)
    cluster.script += [Action(error=ErrorCode.NOT_ENOUGH_REPLICAS), Action(appends=True, responds=False)]
    cluster.script.append(Action(error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    core = producer_on(cluster, linger_ms=0, request_timeout_ms=1_000, delivery_timeout_ms=1_000)
    for topic in ("orders", "shipments"):
        world.run_until(core.partitions_for(topic))
    in_flight = core.send("shipments", b"v")
    world.run_for(ms=300)
    core.send("orders", b"v")
    world.run_for(ms=300)
    error = in_flight.exception(0)
    assert error is not None
    assert error.error_code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    world.run_for(ms=1_000)
    assert core.loop_errors == 0
    assert core.pool.available_bytes == core.pool.memory_bytes


def test_a_sequence_is_never_given_twice_in_an_epoch_after_an_unknown_producer_id(
    world: World, producer_on: ProducerOn
) -> None:
    cluster = WatchedCluster(world, brokers=1)
    cluster.create("orders")
    core = producer_on(cluster, linger_ms=0, batch_size=0, retries=1, retry_backoff_ms=50)
    world.run_until(core.partitions_for("orders"))
    sent = [core.send("orders", b"0")]
    world.run_for(ms=10)
    cluster.script.append(Action(disconnects=True))
    sent += [core.send("orders", b"%d" % number) for number in range(1, 9)]
    cluster.forget_producers(returns_unknown_producer=True)
    world.run_for(ms=1_000)
    for number, future in enumerate(sent):
        if future.exception(0) is None:
            assert cluster.values("orders")[future.result(0).offset] == b"%d" % number
    assert sent[-1].exception(0) is None


def test_a_split_batch_is_split_again_until_its_small_records_are_alone(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    cluster.max_batch_bytes = 220
    core = producer_on(cluster, linger_ms=5, retry_backoff_ms=10)
    world.run_until(core.partitions_for("orders"))
    sent = [core.send("orders", value) for value in (b"x" * 148, b"y" * 2)]
    world.run_for(ms=100)
    assert [future.result(0).offset for future in sent] == [0, 1]
    assert len(cluster.produced) <= 4


def test_a_batch_expires_in_time_behind_a_newer_one_that_is_tried_again_before_it(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    options = {"linger_ms": 0, "batch_size": 0, "request_timeout_ms": 1_000, "delivery_timeout_ms": 1_000}
    core = producer_on(cluster, enable_idempotence=False, **options)
    world.run_until(core.send("orders", b"first").as_deferred())
    cluster.script.append(Action(responds=False))
    older = core.send("orders", b"older")
    world.run_for(ms=100)
    newer = core.send("orders", b"newer")
    world.run_for(ms=100)
    # Both come back, the older one first, and each is put before what is queued.
    cluster.brokers[1].crash()
    world.run_for(ms=801)
    assert isinstance(older.exception(0), BatchExpired)
    assert not newer.done()
    world.run_for(ms=100)
    assert isinstance(newer.exception(0), BatchExpired)
