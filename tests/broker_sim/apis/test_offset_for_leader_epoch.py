from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.topic_spec import TopicSpec
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.records.batch_builder import RecordBatchBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

TOPIC = TopicSpec(name="orders", partitions=2)


def filled(bench: Callable[..., Any], **options: Any) -> Any:
    api = bench(topics=[TOPIC], **options)
    builder = RecordBatchBuilder()
    builder.append(1_767_225_600_000, b"k", b"v")
    data = [PartitionProduceData(index=0, records=builder.build())]
    topics = [TopicProduceData(name="orders", partition_data=data)]
    api.exchange(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics), 9)
    return api


def epochs(*partitions: tuple[int, int, int], topic: str = "orders") -> OffsetForLeaderEpochRequest:
    wanted = [
        OffsetForLeaderPartition(partition=index, leader_epoch=epoch, current_leader_epoch=current)
        for index, epoch, current in partitions
    ]
    return OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=topic, partitions=wanted)])


def summary_of(response: Any) -> list[tuple[int, int, int, int]]:
    """Partition, error code, leader epoch, end offset."""
    return [
        (partition.partition, partition.error_code, partition.leader_epoch, partition.end_offset)
        for topic in response.topics
        for partition in topic.partitions
    ]


@pytest.mark.parametrize(
    ("requested", "expected"),
    [
        ((0, 0, -1), (0, 0, 0, 1)),
        ((0, 99, -1), (0, 0, -1, -1)),
        ((0, -1, -1), (0, 0, -1, -1)),
        ((0, 0, 0), (0, 0, 0, 1)),
        ((0, 0, 7), (0, ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)),
        ((0, 0, -4), (0, ErrorCode.FENCED_LEADER_EPOCH, -1, -1)),
        ((9, 0, -1), (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)),
    ],
)
def test_each_epoch_has_its_end(
    bench: Callable[..., Any], requested: tuple[int, int, int], expected: tuple[int, int, int, int]
) -> None:
    assert summary_of(filled(bench).exchange(epochs(requested), 4)) == [expected]


@pytest.mark.parametrize(("release", "versions"), [("4.3.1", range(2, 5)), ("3.7.2", range(5))])
def test_every_served_version_responds(bench: Callable[..., Any], release: str, versions: range) -> None:
    api = filled(bench, release=release)
    for version in versions:
        epoch = 0 if version else -1
        assert summary_of(api.exchange(epochs((0, 0, -1)), version)) == [(0, 0, epoch, 1)]


def test_repetitions_are_returned_as_requested(bench: Callable[..., Any]) -> None:
    request = epochs((0, 0, -1), (0, 5, -1))
    request.topics += epochs((1, 0, -1)).topics
    expected = filled(bench).exchange(request, 4)
    assert [len(topic.partitions) for topic in expected.topics] == [2, 1]


def test_a_broker_that_does_not_lead_returns_not_leader(bench: Callable[..., Any]) -> None:
    api = bench(brokers=3, topics=[TopicSpec(name="orders", replication_factor=2)])
    leader = api.cluster.leader_of("orders", 0)
    for broker_id in api.cluster.brokers:
        [(_, error, _, _)] = summary_of(api.exchange(epochs((0, 0, -1)), 4, broker_id=broker_id))
        assert error == (0 if broker_id == leader else ErrorCode.NOT_LEADER_OR_FOLLOWER)
