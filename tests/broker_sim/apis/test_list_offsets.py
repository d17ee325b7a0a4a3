from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.topic_spec import TopicSpec
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from protocol_specs.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.records.batch_builder import RecordBatchBuilder
from protocol_specs.records.message_set_builder import MessageSetBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

TOPIC = TopicSpec(name="orders", partitions=2, configs={"retention.ms": "-1"})
NOW = 1_767_225_600_000
UNSUPPORTED = ErrorCode.UNSUPPORTED_VERSION


def filled(bench: Callable[..., Any], **options: Any) -> Any:
    """Timestamps 1000, NOW, NOW at offsets 0, 1, 2 of partition 0; decades apart, so in two segments."""
    api = bench(topics=[TOPIC], **options)
    for times in ([1000], [NOW, NOW]):
        builder = RecordBatchBuilder()
        for timestamp in times:
            builder.append(timestamp, b"k", b"v")
        data = [PartitionProduceData(index=0, records=builder.build())]
        topics = [TopicProduceData(name="orders", partition_data=data)]
        api.exchange(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics), 9)
    return api


def offsets(*partitions: tuple[int, int], replica_id: int = -1, topic: str = "orders", **fields: Any) -> Any:
    epoch = fields.pop("current_leader_epoch", -1)
    limit = fields.pop("max_num_offsets", 1)
    wanted = [
        ListOffsetsPartition(
            partition_index=index, timestamp=timestamp, current_leader_epoch=epoch, max_num_offsets=limit
        )
        for index, timestamp in partitions
    ]
    topics = [ListOffsetsTopic(name=topic, partitions=wanted)]
    return ListOffsetsRequest(replica_id=replica_id, topics=topics, **fields)


def summary_of(response: Any) -> list[tuple[int, int, int, int]]:
    """Partition, error code, timestamp, offset."""
    return [
        (partition.partition_index, partition.error_code, partition.timestamp, partition.offset)
        for topic in response.topics
        for partition in topic.partitions
    ]


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (-1, (0, -1, 3)),
        (-2, (0, -1, 0)),
        (-3, (0, NOW, 1)),
        (-4, (0, -1, 0)),
        (-5, (0, -1, -1)),
        (-6, (0, -1, -1)),
        (-7, (UNSUPPORTED, -1, -1)),
        (0, (0, 1000, 0)),
        (1001, (0, NOW, 1)),
        (NOW + 1, (0, -1, -1)),
    ],
)
def test_each_timestamp_has_its_offset(
    bench: Callable[..., Any], timestamp: int, expected: tuple[int, int, int]
) -> None:
    assert summary_of(filled(bench).exchange(offsets((0, timestamp)), 11)) == [(0, *expected)]


@pytest.mark.parametrize(("timestamp", "lowest"), [(-3, 7), (-4, 8), (-5, 9), (-6, 11)])
def test_a_special_timestamp_needs_its_version_on_4_3(bench: Callable[..., Any], timestamp: int, lowest: int) -> None:
    api = filled(bench)
    assert summary_of(api.exchange(offsets((0, timestamp)), lowest - 1)) == [(0, UNSUPPORTED, -1, -1)]
    assert summary_of(api.exchange(offsets((0, timestamp)), lowest))[0][1] == 0


@pytest.mark.parametrize("timestamp", [-5, -6, -7])
def test_3_7_takes_an_unknown_negative_timestamp_as_a_time(bench: Callable[..., Any], timestamp: int) -> None:
    api = filled(bench, release="3.7.2")
    assert summary_of(api.exchange(offsets((0, timestamp)), 1)) == [(0, 0, 1000, 0)]
    assert summary_of(api.exchange(offsets((0, -4)), 1)) == [(0, 0, -1, 0)]


@pytest.mark.parametrize(("release", "times"), [("4.3.1", 1), ("3.7.2", 2)])
def test_the_same_partition_twice_is_refused(bench: Callable[..., Any], release: str, times: int) -> None:
    api = filled(bench, release=release)
    expected = api.exchange(offsets((0, -1), (1, -1), (0, -2)), 5)
    refused = [entry for entry in summary_of(expected) if entry[0] == 0]
    assert refused == [(0, ErrorCode.INVALID_REQUEST, -1, -1)] * times
    assert (1, 0, -1, 0) in summary_of(expected)


@pytest.mark.parametrize(("release", "topics"), [("4.3.1", 1), ("3.7.2", 2)])
def test_a_topic_that_is_named_twice_gets_a_response(bench: Callable[..., Any], release: str, topics: int) -> None:
    request = offsets((0, -1))
    request.topics += offsets((1, -1)).topics
    expected = filled(bench, release=release).exchange(request, 5)
    assert len(expected.topics) == topics
    assert sorted(summary_of(expected)) == [(0, 0, -1, 3), (1, 0, -1, 0)]


def test_the_leader_epoch_comes_from_version_4_on_and_fences(bench: Callable[..., Any]) -> None:
    api = filled(bench)
    assert api.exchange(offsets((0, -1)), 4).topics[0].partitions[0].leader_epoch == 0
    assert summary_of(api.exchange(offsets((0, -1), current_leader_epoch=9), 5))[0][1] == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert summary_of(api.exchange(offsets((0, -1), current_leader_epoch=-3), 5))[0][1] == ErrorCode.FENCED_LEADER_EPOCH


def test_unknown_partitions_and_topics_have_their_error(bench: Callable[..., Any]) -> None:
    api = filled(bench)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert summary_of(api.exchange(offsets((9, -1)), 5)) == [(9, unknown, -1, -1)]
    assert summary_of(api.exchange(offsets((0, -1), topic="none"), 5)) == [(0, unknown, -1, -1)]


@pytest.mark.parametrize(
    ("release", "replica_id", "error"),
    [("4.3.1", -1, -1), ("4.3.1", 1, -1), ("3.7.2", -1, -1), ("3.7.2", 1, 0)],
)
def test_an_unknown_isolation_level_is_an_unknown_error(
    bench: Callable[..., Any], release: str, replica_id: int, error: int
) -> None:
    expected = filled(bench, release=release).exchange(offsets((0, -1), replica_id=replica_id, isolation_level=5), 5)
    assert summary_of(expected)[0][1] == error


@pytest.mark.parametrize(
    ("timestamp", "limit", "expected"),
    [(-1, 1, [3]), (-1, 5, [3, 1, 0]), (-2, 5, [0]), (-1, 0, []), (5, 3, []), (NOW * 2, 2, [3, 1])],
)
def test_version_0_lists_old_style_offsets(
    bench: Callable[..., Any], timestamp: int, limit: int, expected: list[int]
) -> None:
    api = filled(bench, release="3.7.2")
    [partition] = api.exchange(offsets((0, timestamp), max_num_offsets=limit), 0).topics[0].partitions
    assert (partition.error_code, partition.old_style_offsets) == (0, expected)


@pytest.mark.parametrize("release", ["0.10.0", "2.0", "3.7.2"])
@pytest.mark.parametrize(("age_ms", "expected"), [(5_000, []), (500, [0]), (-5_000, [2, 0])])
def test_version_0_compares_the_time_of_the_last_append(
    bench: Callable[..., Any], release: str, age_ms: int, expected: list[int]
) -> None:
    """The end of the log counts as of now. A real 2.0.1 and a real 3.7.2 return the same."""
    api = bench(topics=[TOPIC], release=release)
    if release == "3.7.2":
        builder: RecordBatchBuilder | MessageSetBuilder = RecordBatchBuilder()
    else:
        builder = MessageSetBuilder(magic=1)
    api.reactor.run_for(ms=2_000)
    for _ in range(2):
        builder.append(1000, b"k", b"v")
    topics = [TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=0, records=builder.build())])]
    api.exchange(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics), 3 if release == "3.7.2" else 2)
    api.reactor.run_for(ms=1_000)
    timestamp = api.cluster.broker(1).now_ms() - age_ms
    [partition] = api.exchange(offsets((0, timestamp), max_num_offsets=5), 0).topics[0].partitions
    assert partition.old_style_offsets == expected


@pytest.mark.parametrize(("retained", "old_style", "by_time"), [(True, [3, 1, 1], -1), (False, [3, 1], 1)])
def test_segments_before_the_start_count_until_retention_deletes_them(
    bench: Callable[..., Any], retained: bool, old_style: list[int], by_time: int
) -> None:
    """The first lines are of a real 3.7.2; retention follows within five minutes, so no recording holds both."""
    api = filled(bench, release="3.7.2")
    partition = DeleteRecordsPartition(partition_index=0, offset=1)
    api.exchange(DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="orders", partitions=[partition])]), 2)
    if not retained:
        api.reactor.run_for(ms=31_000)
    [partition] = api.exchange(offsets((0, -1), max_num_offsets=9), 0).topics[0].partitions
    assert partition.old_style_offsets == old_style
    assert summary_of(api.exchange(offsets((0, 1000)), 5))[0][3] == by_time


def test_version_0_has_its_errors(bench: Callable[..., Any]) -> None:
    api = filled(bench, release="3.7.2")
    [partition] = api.exchange(offsets((0, -1), max_num_offsets=-1), 0).topics[0].partitions
    assert partition.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    [partition] = api.exchange(offsets((9, -1)), 0).topics[0].partitions
    assert partition.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
