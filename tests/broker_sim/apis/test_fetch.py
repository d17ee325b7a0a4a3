from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.faults.grammar import parse_rule
from broker_sim.topic_spec import TopicSpec
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.records.batch_builder import RecordBatchBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

TOPIC = TopicSpec(name="orders", partitions=2)
REPLICATED = TopicSpec(name="orders", partitions=1, replication_factor=3)
LARGE = 1 << 20


def filled(bench: Callable[..., Any], **options: Any) -> Any:
    """Three batches of two records in partition 0, one in partition 1."""
    api = bench(topics=[TOPIC], **options)
    for index in (0, 0, 0, 1):
        builder = RecordBatchBuilder()
        builder.append(1_767_225_600_000, b"k", b"v")
        builder.append(1_767_225_600_000, b"k", b"v")
        data = [PartitionProduceData(index=index, records=builder.build())]
        topics = [TopicProduceData(name="orders", partition_data=data)]
        api.exchange(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics), 9)
    return api


def fetch(*partitions: tuple[int, int], topic: str = "orders", **fields: Any) -> FetchRequest:
    limit = fields.pop("partition_max_bytes", LARGE)
    epoch = fields.pop("current_leader_epoch", -1)
    wanted = [
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=limit, current_leader_epoch=epoch)
        for index, offset in partitions
    ]
    topic_id = fields.pop("topic_id", bytes(16))
    topics = [FetchTopic(topic=topic, topic_id=topic_id, partitions=wanted)] if wanted else []
    return FetchRequest(topics=topics, **({"max_wait_ms": 100, "min_bytes": 1} | fields))


def summary_of(response: Any) -> list[tuple[int, int, int]]:
    """Partition, error code, bytes of records."""
    return [
        (partition.partition_index, partition.error_code, len(partition.records))
        for topic in response.responses
        for partition in topic.partitions
    ]


BATCH = 79


def test_records_come_from_the_batch_that_holds_the_offset(bench: Callable[..., Any]) -> None:
    api = filled(bench)
    assert summary_of(api.exchange(fetch((0, 3), (1, 0)), 12)) == [(0, 0, 2 * BATCH), (1, 0, BATCH)]
    [partition] = api.exchange(fetch((0, 0)), 12).responses[0].partitions
    assert (partition.high_watermark, partition.last_stable_offset, partition.log_start_offset) == (6, 6, 0)


@pytest.mark.parametrize("version", range(4, 19))
def test_every_served_version_responds(bench: Callable[..., Any], version: int) -> None:
    api = filled(bench)
    topic_id = api.cluster.controller.image.topics["orders"].topic_id
    returned = api.exchange(fetch((0, 4), (9, 0), topic_id=topic_id), version)
    assert summary_of(returned) == [(0, 0, BATCH), (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)]


def test_the_same_partition_twice_gets_one_response_from_the_later_offset(bench: Callable[..., Any]) -> None:
    api = filled(bench)
    assert summary_of(api.exchange(fetch((0, 0), (1, 0), (0, 4)), 12)) == [(0, 0, BATCH), (1, 0, BATCH)]


def test_an_error_partition_has_no_offsets_and_empty_records(bench: Callable[..., Any]) -> None:
    api = filled(bench)
    [partition] = api.exchange(fetch((9, 0)), 12).responses[0].partitions
    assert (partition.high_watermark, partition.log_start_offset, bytes(partition.records)) == (-1, -1, b"")
    assert partition.aborted_transactions == []


def test_an_offset_outside_of_the_log_gets_an_immediate_response(bench: Callable[..., Any]) -> None:
    api = filled(bench)
    before = api.reactor.seconds()
    assert summary_of(api.exchange(fetch((0, 77), max_wait_ms=5000), 12)) == [(0, ErrorCode.OFFSET_OUT_OF_RANGE, 0)]
    assert api.reactor.seconds() == before


@pytest.mark.parametrize(("epoch", "error"), [(0, 0), (5, ErrorCode.UNKNOWN_LEADER_EPOCH), (-2, 0), (-1, 0)], ids=str)
def test_a_newer_leader_epoch_is_unknown_and_a_negative_one_is_none(
    bench: Callable[..., Any], epoch: int, error: int
) -> None:
    api = filled(bench)
    assert summary_of(api.exchange(fetch((0, 6), current_leader_epoch=epoch), 12)) == [(0, error, 0)]


def test_an_empty_fetch_waits_for_max_wait_ms(bench: Callable[..., Any]) -> None:
    api = filled(bench)
    before = api.reactor.seconds()
    assert summary_of(api.exchange(fetch((0, 6), max_wait_ms=300), 12)) == [(0, 0, 0)]
    assert api.reactor.seconds() - before == pytest.approx(0.3)


def test_one_batch_comes_with_any_limits(bench: Callable[..., Any]) -> None:
    api = filled(bench)
    assert summary_of(api.exchange(fetch((0, 0), (1, 0), max_bytes=0), 12)) == [(0, 0, BATCH), (1, 0, 0)]
    assert summary_of(api.exchange(fetch((0, 0), (1, 0), partition_max_bytes=1), 12)) == [(0, 0, BATCH), (1, 0, 0)]


def test_a_consumer_gets_the_beginning_of_the_batch_at_the_limit(bench: Callable[..., Any]) -> None:
    api = filled(bench)
    assert summary_of(api.exchange(fetch((0, 0), partition_max_bytes=BATCH + 10), 12)) == [(0, 0, BATCH + 10)]


def test_a_negative_partition_limit_fails_where_there_is_something_to_read(bench: Callable[..., Any]) -> None:
    api = filled(bench)
    unknown = ErrorCode.UNKNOWN_SERVER_ERROR
    assert summary_of(api.exchange(fetch((0, 0), (1, 2), partition_max_bytes=-1), 12)) == [(0, unknown, 0), (1, 0, 0)]


def test_a_negative_limit_of_the_request_fails_its_first_partition(bench: Callable[..., Any]) -> None:
    api = filled(bench)
    returned = api.exchange(fetch((0, 0), (1, 0), max_bytes=-1), 12)
    assert summary_of(returned) == [(0, ErrorCode.UNKNOWN_SERVER_ERROR, 0), (1, 0, BATCH)]


def test_read_committed_has_a_list_of_aborted_transactions(bench: Callable[..., Any]) -> None:
    api = filled(bench)
    [committed] = api.exchange(fetch((0, 0), isolation_level=1), 12).responses[0].partitions
    [uncommitted] = api.exchange(fetch((0, 0)), 12).responses[0].partitions
    assert (committed.aborted_transactions, uncommitted.aborted_transactions) == ([], None)


@pytest.mark.parametrize(("release", "records"), [("4.3.1", b""), ("3.7.2", None)])
def test_an_unknown_isolation_level_fails_the_whole_request(
    bench: Callable[..., Any], release: str, records: bytes | None
) -> None:
    api = filled(bench, release=release)
    returned = api.exchange(fetch((0, 0), isolation_level=5), 12)
    [partition] = returned.responses[0].partitions
    assert (returned.error_code, partition.error_code, partition.records) == (-1, -1, records)
    topic_id = api.cluster.controller.image.topics["orders"].topic_id
    assert api.exchange(fetch((0, 0), isolation_level=5, topic_id=topic_id), 13).responses == []


def test_unknown_topic_ids_have_their_error(bench: Callable[..., Any]) -> None:
    api = filled(bench)
    assert summary_of(api.exchange(fetch((0, 0), topic_id=b"\x09" * 16), 13)) == [(0, ErrorCode.UNKNOWN_TOPIC_ID, 0)]
    assert summary_of(api.exchange(fetch((0, 0)), 13)) == [(0, ErrorCode.UNKNOWN_TOPIC_ID, 0)]
    assert api.exchange(fetch((0, 0), (1, 0)), 13).error_code == ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(("release", "endpoints"), [("4.3.1", 0), ("3.7.2", 1)])
def test_a_client_that_fetches_as_a_replica_gets_the_leader(
    bench: Callable[..., Any], release: str, endpoints: int
) -> None:
    api = filled(bench, release=release)
    topic_id = api.cluster.controller.image.topics["orders"].topic_id
    returned = api.exchange(fetch((0, 0), topic_id=topic_id, replica_state=ReplicaState(replica_id=5)), 16)
    [partition] = returned.responses[0].partitions
    assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.current_leader.leader_id == 1
    assert len(returned.node_endpoints) == endpoints


def test_a_follower_serves_consumers_from_version_11_on(bench: Callable[..., Any]) -> None:
    api = bench(brokers=3, topics=[REPLICATED])
    leader = api.cluster.leader_of("orders", 0)
    follower = next(broker for broker in api.cluster.brokers if broker != leader)
    not_leader = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert summary_of(api.exchange(fetch((0, 0)), 10, broker_id=follower)) == [(0, not_leader, 0)]
    assert summary_of(api.exchange(fetch((0, 0)), 11, broker_id=follower)) == [(0, 0, 0)]


def test_a_session_is_opened_continued_and_closed(bench: Callable[..., Any]) -> None:
    api = filled(bench)
    opened = api.exchange(fetch((0, 6), (1, 2), (9, 0), session_epoch=0), 12)
    session_id = opened.session_id
    assert session_id > 0
    assert len(summary_of(opened)) == 3
    idle = api.exchange(fetch(session_id=session_id, session_epoch=1), 12)
    assert summary_of(idle) == [(9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)], "errors are returned each time"
    repeated = api.exchange(fetch(session_id=session_id, session_epoch=1), 12)
    assert (repeated.error_code, repeated.session_id) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0)
    moved = api.exchange(
        fetch(
            (0, 4),
            session_id=session_id,
            session_epoch=2,
            forgotten_topics_data=[ForgottenTopic(topic="orders", partitions=[9])],
        ),
        12,
    )
    assert summary_of(moved) == [(0, 0, BATCH)]
    closed = api.exchange(fetch(session_id=session_id, session_epoch=-1), 12)
    assert closed.session_id == 0
    gone = api.exchange(fetch(session_id=session_id, session_epoch=3), 12)
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_rule_returns_an_error_for_one_partition_of_a_fetch(bench: Callable[..., Any]) -> None:
    api = filled(bench)
    rule = {
        "select": {"api": "Fetch", "topic": "orders", "partition": 0},
        "phase": "before_append",
        "act": {"error": "KAFKA_STORAGE_ERROR"},
    }
    api.cluster.faults.add(parse_rule(rule))
    assert summary_of(api.exchange(fetch((0, 0), (1, 0)), 12)) == [(1, 0, BATCH), (0, ErrorCode.KAFKA_STORAGE_ERROR, 0)]


def test_a_rule_delays_a_fetch(bench: Callable[..., Any]) -> None:
    api = filled(bench)
    api.cluster.faults.add(parse_rule({"select": {"api": "Fetch"}, "phase": "before_append", "act": {"delay_ms": 250}}))
    before = api.reactor.seconds()
    assert summary_of(api.exchange(fetch((1, 0)), 12)) == [(1, 0, BATCH)]
    assert api.reactor.seconds() - before == pytest.approx(0.25)
