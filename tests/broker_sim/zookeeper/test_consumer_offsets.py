"""Offsets in ZooKeeper, with the responses of real brokers of 1.1.1, 2.0.1 and 3.7.2 to the same requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred

from broker_sim.cluster import TopicSpec
from broker_sim.rpc.plain_call import PlainCalls
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol_specs.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

RELEASES = ("0.8.2", "0.10.2", "1.1", "2.0", "3.7.2")
NONE, UNKNOWN, TOO_LARGE, FAILED = (
    ErrorCode.NONE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.OFFSET_METADATA_TOO_LARGE,
    ErrorCode.UNKNOWN_SERVER_ERROR,
)


class Groups:
    """A cluster whose brokers serve version 0; `t` has six partitions."""

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster

    def call(self, broker_id: int, request: Any) -> Any:
        response = PlainCalls(self.cluster.broker(broker_id)).call(request, 0, client_id="c")
        if isinstance(response, Deferred):
            response = self.cluster.replicas.world.run_until(response, deadline_ms=60_000)
        return response

    def commit(
        self, group: str, offsets: Mapping[tuple[str, int], int], *, metadata: str | None = "", broker_id: int = 1
    ) -> list[tuple[str, int, int]]:
        topics = [
            OffsetCommitRequestTopic(
                name=name,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=index, committed_offset=offset, committed_metadata=metadata
                    )
                ],
            )
            for (name, index), offset in offsets.items()
        ]
        response = self.call(broker_id, OffsetCommitRequest(group_id=group, topics=topics))
        return [
            (topic.name, each.partition_index, each.error_code)
            for topic in response.topics
            for each in topic.partitions
        ]

    def fetch(
        self, group: str, *topics: tuple[str, Sequence[int]], broker_id: int = 1
    ) -> list[tuple[str, int, int, int]]:
        wanted = [OffsetFetchRequestTopic(name=name, partition_indexes=list(indexes)) for name, indexes in topics]
        response = self.call(broker_id, OffsetFetchRequest(group_id=group, topics=wanted))
        return [
            (topic.name, each.partition_index, each.committed_offset, each.error_code)
            for topic in response.topics
            for each in topic.partitions
        ]


@pytest.fixture
def groups(zookeeper_cluster: Callable[..., Any]) -> Callable[..., Groups]:
    return lambda release="3.7.2", **options: Groups(zookeeper_cluster(release, partitions=6, **options))


@pytest.mark.parametrize("release", RELEASES)
def test_any_broker_serves_them_without_a_group(groups: Callable[..., Groups], release: str) -> None:
    made = groups(release)
    assert made.fetch("g", ("t", [0])) == [("t", 0, -1, UNKNOWN)]
    assert made.commit("g", {("t", 0): 5, ("t", 1): -7}, broker_id=2) == [("t", 0, NONE), ("t", 1, NONE)]
    assert made.fetch("g", ("t", [0, 1, 2]), broker_id=3) == [
        ("t", 0, 5, NONE),
        ("t", 1, -7, NONE),
        ("t", 2, -1, UNKNOWN),
    ]
    assert made.commit("g", {("t", 0): 4}) == [("t", 0, NONE)], "nothing keeps an offset from going back"
    assert made.fetch("g", ("t", [0]), broker_id=2) == [("t", 0, 4, NONE)]
    assert made.fetch("other", ("t", [0])) == [("t", 0, -1, UNKNOWN)]
    assert [name for name in made.cluster.zookeeper.image.topics if name.startswith("__")] == []


@pytest.mark.parametrize(("release", "code"), [("1.1", NONE), ("2.0", UNKNOWN), ("3.7.2", UNKNOWN)])
def test_topics_are_checked_and_since_2_0_partitions_too(
    groups: Callable[..., Groups], release: str, code: int
) -> None:
    made = groups(release)
    results = made.commit("g", {("none", 0): 1, ("t", 77): 1, ("t", 0): 9, ("t", -1): 1})
    assert sorted(results) == [("none", 0, UNKNOWN), ("t", -1, code), ("t", 0, NONE), ("t", 77, code)]
    offset = 1 if code == NONE else -1
    fetched = made.fetch("g", ("none", [0]), ("t", [77, 0]))
    assert fetched == [("t", 77, offset, code), ("t", 0, 9, NONE), ("none", 0, -1, UNKNOWN)]


def test_the_partitions_of_a_response_come_as_from_kafkas_maps(groups: Callable[..., Groups]) -> None:
    made = groups()
    made.commit("g", {("t", index): index for index in range(5)})
    assert [index for _, index, _, _ in made.fetch("g", ("t", [4, 0, 3, 1, 4]))] == [4, 0, 3, 1]
    response = made.commit("g", {("t", 3): 33, ("none", 0): 1, ("t", 0): 30})
    assert response == [("none", 0, UNKNOWN), ("t", 3, NONE), ("t", 0, NONE)]


def test_metadata_is_measured_and_forgotten(groups: Callable[..., Groups]) -> None:
    made = groups()
    assert made.commit("g", {("t", 0): 1}, metadata="m" * 4097) == [("t", 0, TOO_LARGE)]
    assert made.commit("g", {("t", 0): 1}, metadata="m" * 4096) == [("t", 0, NONE)]
    assert made.commit("g", {("t", 1): 1}, metadata=None) == [("t", 1, NONE)]
    request = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])])
    [topic] = made.call(1, request).topics
    assert [each.metadata for each in topic.partitions] == ["", ""]


@pytest.mark.parametrize(
    "group", ["", "g//h", "g/", "/g", ".", "..", "a/../b", "g\0", "g\x1f", "g\x85", "g\ufff5", "g\U0001f600"]
)
def test_a_group_id_that_makes_no_path_is_an_unexpected_error(groups: Callable[..., Groups], group: str) -> None:
    made = groups()
    assert made.commit(group, {("t", 0): 1}) == [("t", 0, FAILED)]
    assert made.fetch(group, ("t", [0])) == [("t", 0, -1, FAILED)]


@pytest.mark.parametrize("group", ["g/h", "...", "g.", "é中", " "])
def test_any_other_group_id_is_a_path(groups: Callable[..., Groups], group: str) -> None:
    made = groups()
    assert made.commit(group, {("t", 0): 1}) == [("t", 0, NONE)]
    assert made.fetch(group, ("t", [0])) == [("t", 0, 1, NONE)]


def test_they_outlive_their_topic(groups: Callable[..., Groups]) -> None:
    made = groups("2.3")
    made.commit("g", {("t", 0): 5})
    made.cluster.cluster.delete_topic("t")
    made.cluster.run(ms=1_000)
    assert made.fetch("g", ("t", [0])) == [("t", 0, -1, UNKNOWN)]
    made.cluster.cluster.create_topic(TopicSpec(name="t", partitions=1, replication_factor=1))
    made.cluster.run(ms=1_000)
    assert made.fetch("g", ("t", [0])) == [("t", 0, 5, NONE)]


def test_a_commit_waits_for_zookeeper(groups: Callable[..., Groups]) -> None:
    made = groups()
    made.cluster.cut_from_zookeeper(2)
    broker = made.cluster.broker(2)
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="")
    request = OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=[partition])])
    responses: list[Any] = []
    waiting = PlainCalls(broker).call(request, 0, client_id="c")
    assert isinstance(waiting, Deferred)
    waiting.addCallback(responses.append)
    made.cluster.run(ms=1_000)
    assert responses == []
    made.cluster.back_to_zookeeper(2)
    made.cluster.run(ms=10_000)
    assert responses[0].topics[0].partitions[0].error_code == NONE
    assert made.fetch("g", ("t", [0])) == [("t", 0, 5, NONE)]
