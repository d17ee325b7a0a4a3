"""The producer's core against a scripted cluster, on virtual time."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from broker_client.errors import (
    BatchExpired,
    BrokerError,
    BufferExhausted,
    InvalidRecordBatch,
    InvalidTopic,
    MetadataTimeout,
    ProducerClosed,
    ProducerError,
    RecordTooLarge,
    TopicAuthorizationFailed,
)
from broker_client.records import RecordMetadata, TopicPartition
from protocol_specs.error_codes import ErrorCode
from tests.client.scripted_broker import API_VERSIONS, INIT_PRODUCER_ID, METADATA, PRODUCE, Action, ScriptedCluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.producer.future_record_metadata import FutureRecordMetadata
    from broker_client.core.producer.producer_core import ProducerCore
    from sim_runtime.world import World

    ProducerOn = Callable[..., ProducerCore]

ORDERS = TopicPartition("orders", 0)


def result(world: World, future: FutureRecordMetadata, deadline_ms: float = 200_000) -> RecordMetadata:
    return world.run_until(future.as_deferred(), deadline_ms=deadline_ms)


def error(world: World, future: FutureRecordMetadata, deadline_ms: float = 200_000) -> Any:
    with pytest.raises(ProducerError) as caught:
        result(world, future, deadline_ms)
    return caught.value


def alone(number: int) -> bytes:
    """A value so large that with batch.size 0 no second one fits beside it."""
    return b"%d" % number * 100


def ready(world: World, producer: ProducerCore, topic: str = "orders") -> None:
    """Metadata, producer id and a connection are there: what follows is Produce alone."""
    result(world, producer.send(topic, b"first"))


def test_an_acknowledged_record_has_its_offset(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    producer = producer_on(cluster)
    sent = producer.send("orders", b"value", key=b"key", headers=[("h", None)], timestamp_ms=1234)
    assert result(world, sent) == RecordMetadata(
        topic="orders",
        partition=0,
        offset=0,
        timestamp_ms=1234,
        serialized_key_size=3,
        serialized_value_size=5,
    )
    (record,) = cluster.logs[ORDERS]
    assert (record.key, record.value, list(record.headers)) == (b"key", b"value", [("h", None)])


def test_an_idempotent_producer_sends_requests_in_kafkas_order(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    ready(world, producer_on(cluster))
    # First on the bootstrap connection, then on the one to the leader under its own id.
    requested = [requested.api_key for requested in cluster.seen]
    assert requested == [API_VERSIONS, METADATA, INIT_PRODUCER_ID, API_VERSIONS, PRODUCE]


def test_linger_sends_a_partial_batch_when_it_expires(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, linger_ms=5)
    ready(world, producer)
    cluster.seen.clear()
    sent = producer.send("orders", b"a")
    world.run_for(ms=4)
    assert cluster.produced == []
    world.run_for(ms=2)
    assert len(cluster.produced) == 1
    assert result(world, sent).offset == 1


def test_a_full_batch_does_not_linger(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    producer = producer_on(cluster, linger_ms=1_000, batch_size=500)
    ready(world, producer)
    cluster.seen.clear()
    futures = [producer.send("orders", b"x" * 100) for _ in range(9)]
    world.run_for(ms=10)
    # Four records fit: 61 + 4 * 107 = 489 bytes.
    assert [requested.batches[ORDERS].records_count for requested in cluster.produced] == [4, 4]
    assert [future.done() for future in futures] == [True] * 8 + [False]


def test_the_fifth_request_waits_when_five_are_in_flight(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, linger_ms=0, batch_size=0)
    ready(world, producer)
    cluster.seen.clear()
    cluster.default = Action(appends=True, delay_ms=50)
    futures = [producer.send("orders", alone(number)) for number in range(7)]
    world.run_for(ms=40)
    assert len(cluster.produced) == 5
    for future in futures:
        result(world, future)
    assert [requested.batches[ORDERS].base_sequence for requested in cluster.produced] == list(range(1, 8))


@pytest.mark.parametrize("acks", ["0", "1", "all"])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_and_every_acks_arrives(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn, acks: str, codec: str
) -> None:
    producer = producer_on(cluster, acks=acks, compression_type=codec)
    futures = [producer.send("orders", b"value %d" % number * 20) for number in range(50)]
    places = [result(world, future) for future in futures]
    world.run_for(ms=10)
    assert cluster.values("orders") == [b"value %d" % number * 20 for number in range(50)]
    assert [place.offset for place in places] == ([-1] * 50 if acks == "0" else list(range(50)))


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ],
)
def test_a_retriable_error_is_retried_after_the_back_off(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn, code: ErrorCode
) -> None:
    producer = producer_on(cluster, enable_idempotence=False)
    ready(world, producer)
    cluster.seen.clear()
    cluster.script.append(Action(error=code))
    assert result(world, producer.send("orders", b"again")).offset == 1
    first, second = cluster.produced
    assert 80 <= second.time_ms - first.time_ms <= 130


def test_retries_back_off_exponentially(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    producer = producer_on(cluster)
    ready(world, producer)
    cluster.seen.clear()
    cluster.script.extend([Action(error=ErrorCode.NOT_ENOUGH_REPLICAS)] * 6)
    result(world, producer.send("orders", b"again"))
    times = [requested.time_ms for requested in cluster.produced]
    pauses = [later - earlier for earlier, later in pairwise(times)]
    for pause, nominal in zip(pauses, [100, 200, 400, 800, 1000, 1000], strict=True):
        assert nominal * 0.8 - 1 <= pause <= min(nominal * 1.2, 1000) + 6


def test_retries_end_with_the_brokers_error(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    producer = producer_on(cluster, retries=2, enable_idempotence=False)
    ready(world, producer)
    cluster.seen.clear()
    cluster.default = Action(error=ErrorCode.NOT_ENOUGH_REPLICAS)
    failure = error(world, producer.send("orders", b"never"))
    assert (type(failure), failure.error_code, failure.maybe_written) == (
        BrokerError,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        False,
    )
    assert len(cluster.produced) == 3


def test_a_fatal_error_is_not_retried(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    producer = producer_on(cluster)
    ready(world, producer)
    cluster.seen.clear()
    cluster.script.append(Action(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    failure = error(world, producer.send("orders", b"no"))
    assert isinstance(failure, TopicAuthorizationFailed)
    assert len(cluster.produced) == 1


def test_only_the_bad_record_gets_its_own_error(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster)
    ready(world, producer)
    cluster.script.append(Action(error=ErrorCode.INVALID_RECORD, record_errors={1: "no key"}))
    futures = [producer.send("orders", b"%d" % number) for number in range(3)]
    failures = [error(world, future) for future in futures]
    assert [type(failure) for failure in failures] == [InvalidRecordBatch, BrokerError, InvalidRecordBatch]
    assert "no key" in str(failures[1])


def test_a_lost_response_is_retried_and_deduplicated(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster)
    ready(world, producer)
    cluster.script.append(Action(appends=True, disconnects=True))
    assert result(world, producer.send("orders", b"once")).offset == 1
    assert cluster.values("orders") == [b"first", b"once"]


def test_a_lost_response_without_idempotence_is_written_twice(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, enable_idempotence=False)
    ready(world, producer)
    cluster.script.append(Action(appends=True, disconnects=True))
    assert result(world, producer.send("orders", b"twice")).offset == 2
    assert cluster.values("orders") == [b"first", b"twice", b"twice"]


def test_a_request_without_response_times_out_and_is_retried(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, request_timeout_ms=1_000, linger_ms=0)
    ready(world, producer)
    cluster.seen.clear()
    cluster.script.append(Action(appends=True, responds=False))
    assert result(world, producer.send("orders", b"once")).offset == 1
    first, second = cluster.produced
    assert 1_000 <= second.time_ms - first.time_ms <= 1_300
    assert cluster.values("orders") == [b"first", b"once"]


def test_batches_behind_a_failed_one_keep_their_order(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, linger_ms=0, batch_size=0)
    ready(world, producer)
    cluster.script.extend([Action(error=ErrorCode.NOT_ENOUGH_REPLICAS)])
    futures = [producer.send("orders", alone(number)) for number in range(5)]
    assert [result(world, future).offset for future in futures] == [1, 2, 3, 4, 5]
    assert cluster.values("orders") == [b"first", *map(alone, range(5))]


def test_one_in_flight_keeps_the_order_without_idempotence(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(
        cluster, linger_ms=0, batch_size=0, enable_idempotence=False, max_in_flight_requests_per_connection=1
    )
    ready(world, producer)
    cluster.script.extend([Action(error=ErrorCode.NOT_ENOUGH_REPLICAS), Action(error=ErrorCode.NOT_ENOUGH_REPLICAS)])
    futures = [producer.send("orders", alone(number)) for number in range(4)]
    assert [result(world, future).offset for future in futures] == [1, 2, 3, 4]


def test_a_batch_that_is_too_large_is_split(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    producer = producer_on(cluster, batch_size=1_000, linger_ms=20, compression_type="gzip")
    ready(world, producer)
    cluster.max_batch_bytes = 200
    values = [bytes([number]) * 300 + b"%d" % number for number in range(10)]
    futures = [producer.send("orders", value) for value in values]
    assert [result(world, future).offset for future in futures] == list(range(1, 11))
    assert cluster.values("orders") == [b"first", *values]


def test_a_single_record_that_is_too_large_fails(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster)
    ready(world, producer)
    cluster.max_batch_bytes = 200
    failure = error(world, producer.send("orders", b"x" * 300))
    assert failure.error_code is ErrorCode.MESSAGE_TOO_LARGE
    assert "max.message.bytes" in str(failure)


def test_a_new_leader_is_found_and_written_to(world: World, producer_on: ProducerOn) -> None:
    cluster = ScriptedCluster(world, brokers=2)
    cluster.create("orders")
    producer = producer_on(cluster)
    ready(world, producer)
    cluster.move_leader(ORDERS, 2)
    assert result(world, producer.send("orders", b"moved")).offset == 1
    assert cluster.produced[-1].broker == 2


def test_the_leader_in_a_response_ends_the_back_off(world: World, producer_on: ProducerOn) -> None:
    cluster = ScriptedCluster(world, brokers=2)
    cluster.create("orders")
    producer = producer_on(cluster, retry_backoff_ms=10_000, retry_backoff_max_ms=10_000)
    ready(world, producer)
    cluster.seen.clear()
    cluster.move_leader(ORDERS, 2)
    cluster.script.append(Action(error=ErrorCode.NOT_LEADER_OR_FOLLOWER, leader=(2, 1)))
    assert result(world, producer.send("orders", b"moved")).offset == 1
    first, second = cluster.produced
    assert second.broker == 2
    assert second.time_ms - first.time_ms < 100


def test_a_partition_without_leader_requests_metadata_until_it_has_one(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster)
    ready(world, producer)
    cluster.move_leader(ORDERS, None)
    waiting = producer.send("orders", b"waits")
    world.run_for(ms=3_000)
    assert not waiting.done()
    cluster.move_leader(ORDERS, 1)
    assert result(world, waiting).offset == 1


def test_a_broker_that_comes_back_is_connected_again(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster)
    ready(world, producer)
    cluster.brokers[1].crash()
    waiting = producer.send("orders", b"waits")
    world.run_for(ms=5_000)
    assert not waiting.done()
    cluster.brokers[1].start()
    assert result(world, waiting).offset == 1


def test_a_batch_expires_in_the_queue(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    producer = producer_on(cluster, delivery_timeout_ms=3_000, request_timeout_ms=1_000)
    ready(world, producer)
    cluster.brokers[1].crash()
    began_us = world.reactor.now_us
    failure = error(world, producer.send("orders", b"late"))
    assert isinstance(failure, BatchExpired)
    assert not failure.maybe_written
    assert str(failure).startswith("expiring 1 record(s) for orders-0: 3000 ms has passed since batch creation")
    assert "delivery.timeout.ms" in str(failure)
    assert 3_000_000 <= world.reactor.now_us - began_us < 3_010_000


def test_a_batch_that_expires_in_flight_holds_its_memory_until_its_request_ends(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, delivery_timeout_ms=3_000, request_timeout_ms=2_900, linger_ms=0)
    ready(world, producer)
    full = producer.pool.available_bytes
    cluster.script.append(Action(appends=True, error=ErrorCode.REQUEST_TIMED_OUT, delay_ms=200))
    cluster.script.append(Action(appends=True, delay_ms=2_850))
    failure = error(world, producer.send("orders", b"late"))
    assert isinstance(failure, BatchExpired)
    assert failure.maybe_written
    assert producer.pool.available_bytes < full
    world.run_for(ms=1_000)
    assert producer.pool.available_bytes == full


def test_after_an_expired_retry_the_epoch_is_bumped(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, delivery_timeout_ms=2_000, request_timeout_ms=500, linger_ms=0)
    ready(world, producer)
    cluster.default = Action(responds=False)
    assert isinstance(error(world, producer.send("orders", b"lost")), BatchExpired)
    cluster.default = Action(appends=True)
    world.run_for(ms=1_000)
    assert result(world, producer.send("orders", b"next")).offset == 1
    header = cluster.produced[-1].batches[ORDERS]
    assert (header.producer_epoch, header.base_sequence) == (1, 0)


def test_an_unknown_producer_id_is_healed_by_a_new_epoch(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster)
    ready(world, producer)
    cluster.script.append(Action(error=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER))
    assert result(world, producer.send("orders", b"healed")).offset == 1
    header = cluster.produced[-1].batches[ORDERS]
    assert (header.producer_epoch, header.base_sequence) == (1, 0)


def test_a_forgotten_duplicate_succeeds_without_an_offset(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster)
    ready(world, producer)
    cluster.script.append(Action(error=ErrorCode.DUPLICATE_SEQUENCE_NUMBER))
    assert result(world, producer.send("orders", b"known")).offset == -1


def test_refused_idempotence_fails_what_waits(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    # The id is requested at the start, and again at once after a refusal: the second refusal meets the record.
    cluster.init_errors.extend([ErrorCode.CLUSTER_AUTHORIZATION_FAILED] * 2)
    producer = producer_on(cluster)
    failure = error(world, producer.send("orders", b"no"))
    assert failure.error_code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert result(world, producer.send("orders", b"requested again")).offset == 0


def test_a_loading_coordinator_gets_the_request_again(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    cluster.init_errors.extend([ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 3)
    assert result(world, producer_on(cluster).send("orders", b"patient")).offset == 0
    assert len(cluster.requests(INIT_PRODUCER_ID)) == 4


def test_a_topic_that_never_appears_times_out_by_name(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, max_block_ms=2_000)
    began_us = world.reactor.now_us
    failure = error(world, producer.send("nowhere", b"?"))
    assert isinstance(failure, MetadataTimeout)
    assert str(failure) == (
        "topic 'nowhere' not present in metadata after 2000 ms (the brokers return UNKNOWN_TOPIC_OR_PARTITION); "
        "raise max.block.ms to allow more"
    )
    assert world.reactor.now_us - began_us == 2_000_000


def test_a_partition_that_never_appears_times_out_with_the_count(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, max_block_ms=2_000)
    failure = error(world, producer.send("orders", b"?", partition=3))
    assert "partition 3 of topic 'orders' with partition count 1" in str(failure)


def test_an_address_without_listener_is_named(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    producer = producer_on(cluster, bootstrap_servers="broker-1:1", max_block_ms=1_000)
    failure = error(world, producer.send("orders", b"?"))
    assert "bootstrap.servers: broker-1:1" in str(failure)


def test_a_topic_that_comes_later_is_waited_for_in_order(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster)
    futures = [producer.send("later", b"%d" % number) for number in range(5)]
    world.run_for(ms=1_000)
    cluster.create("later")
    assert [result(world, future).offset for future in futures] == [0, 1, 2, 3, 4]
    assert cluster.values("later") == [b"0", b"1", b"2", b"3", b"4"]


def test_an_invalid_topic_is_refused_at_once(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    cluster.metadata_errors["a b"] = ErrorCode.INVALID_TOPIC_EXCEPTION
    failure = error(world, producer_on(cluster).send("a b", b"?"), deadline_ms=1_000)
    assert isinstance(failure, InvalidTopic)


def test_an_unauthorized_topic_is_refused_at_once(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    cluster.metadata_errors["secret"] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    failure = error(world, producer_on(cluster).send("secret", b"?"), deadline_ms=1_000)
    assert isinstance(failure, TopicAuthorizationFailed)


def test_a_record_above_max_request_size_is_refused(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, max_request_size=1_000)
    ready(world, producer)
    failure = error(world, producer.send("orders", b"x" * 1_000))
    assert isinstance(failure, RecordTooLarge)
    assert "max.request.size" in str(failure)


def test_memory_that_stays_full_fails_after_max_block_ms(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, buffer_memory=1_000, batch_size=500, max_block_ms=1_000)
    ready(world, producer)
    cluster.default = Action(appends=True, delay_ms=5_000)
    futures = [producer.send("orders", b"x" * 400) for _ in range(3)]
    failure = error(world, futures[2])
    assert isinstance(failure, BufferExhausted)
    assert "buffer.memory=1000" in str(failure)
    assert [result(world, future).offset for future in futures[:2]] == [1, 2]


def test_a_send_that_waits_for_memory_goes_on_when_some_is_free(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, buffer_memory=2_000, batch_size=500)
    ready(world, producer)
    values = [b"%02d" % number * 100 for number in range(14)]
    futures = [producer.send("orders", value) for value in values]
    assert producer.pool.queued == 1
    assert [result(world, future).offset for future in futures] == list(range(1, 15))
    assert cluster.values("orders")[1:] == values


def test_flush_does_not_linger_and_waits_for_what_was_sent_before(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, linger_ms=60_000)
    futures = [producer.send("orders", b"%d" % number) for number in range(3)]
    world.run_until(producer.flush(), deadline_ms=1_000)
    assert all(future.done() for future in futures)
    later = producer.send("orders", b"later")
    world.run_for(ms=1_000)
    assert not later.done()


def test_close_sends_what_is_queued(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    producer = producer_on(cluster, linger_ms=60_000)
    world.run_until(producer.partitions_for("orders"))
    futures = [producer.send("orders", b"%d" % number) for number in range(3)]
    world.run_until(producer.close(), deadline_ms=1_000)
    assert [result(world, future).offset for future in futures] == [0, 1, 2]
    with pytest.raises(ProducerClosed, match="the producer is closed"):
        producer.send("orders", b"after")


def test_close_by_force_fails_what_is_left(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    producer = producer_on(cluster, linger_ms=0)
    ready(world, producer)
    cluster.default = Action(appends=True, responds=False)
    sent = producer.send("orders", b"sent")
    world.run_for(ms=10)
    world.run_until(producer.close(100), deadline_ms=1_000)
    failure = error(world, sent)
    assert isinstance(failure, ProducerClosed)
    assert failure.maybe_written


def test_callbacks_run_in_record_order_and_one_that_raises_stops_no_other(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster)
    notified: list[Any] = []

    def on_delivery(metadata: RecordMetadata, failure: ProducerError | None) -> None:
        notified.append((metadata.offset, failure))
        if metadata.offset == 1:
            raise ValueError("a caller's mistake")

    futures = [producer.send("orders", b"%d" % number, on_delivery=on_delivery) for number in range(3)]
    for future in futures:
        result(world, future)
    assert notified == [(0, None), (1, None), (2, None)]


def test_a_throttled_broker_is_left_alone_for_a_while(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, linger_ms=0)
    ready(world, producer)
    cluster.seen.clear()
    cluster.script.append(Action(appends=True, throttle_ms=700))
    result(world, producer.send("orders", b"a"))
    result(world, producer.send("orders", b"b"))
    first, second = cluster.produced
    assert 700 <= second.time_ms - first.time_ms <= 710


def test_an_idle_connection_is_closed_and_made_again(
    world: World, cluster: ScriptedCluster, producer_on: ProducerOn
) -> None:
    producer = producer_on(cluster, connections_max_idle_ms=5_000)
    ready(world, producer)
    world.run_for(ms=12_000)
    assert producer.client.selector.connections_closed >= 2
    assert result(world, producer.send("orders", b"again")).offset == 1


@pytest.mark.parametrize("release", ["3.7.2", "4.3.1", "2.4.1", "0.11.0.3"])
def test_versions_are_negotiated_with_each_release(world: World, producer_on: ProducerOn, release: str) -> None:
    cluster = ScriptedCluster(world, release=release)
    cluster.create("orders")
    assert result(world, producer_on(cluster).send("orders", b"old")).offset == 0
    assert cluster.produced[0].api_version == min(13, cluster.release.api_versions[PRODUCE].highest)


def test_drains_take_turns_among_partitions(world: World, cluster: ScriptedCluster, producer_on: ProducerOn) -> None:
    cluster.create("wide", partitions=4)
    producer = producer_on(cluster, linger_ms=0, batch_size=200, max_request_size=450)
    world.run_until(producer.partitions_for("wide"))
    futures = [producer.send("wide", b"x" * 100, partition=number % 4) for number in range(40)]
    for future in futures:
        result(world, future)
    for requested in cluster.produced:
        assert len(requested.batches) <= 2
    served = [key.partition for requested in cluster.produced for key in requested.batches]
    assert sorted(dict.fromkeys(served[:6])) == [0, 1, 2, 3]
