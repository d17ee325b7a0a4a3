from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_sim.apis import offset_commit
from broker_sim.apis.offset_commit import frame_tail_of
from broker_sim.apis.repeated_response import frame_with_tail
from broker_sim.topic_spec import TopicSpec
from protocol_specs.error_codes import ErrorCode
from protocol_specs.framing import encode_response
from protocol_specs.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tests.broker_sim.offset_requests import OFFSETS_TOPIC, commit, fetch, with_coordinator

if TYPE_CHECKING:
    from collections.abc import Callable


def test_offsets_of_a_client_without_a_group_are_committed(bench: Callable[..., Any]) -> None:
    api = with_coordinator(bench)
    assert commit(api, {("orders", 1): 42, ("orders", 0): 7}, metadata="note", leader_epoch=3) == [
        ("orders", 1, ErrorCode.NONE),
        ("orders", 0, ErrorCode.NONE),
    ]
    assert fetch(api, {"orders": [0, 1, 2]}) == [
        ("orders", 0, 7, 3, "note", ErrorCode.NONE),
        ("orders", 1, 42, 3, "note", ErrorCode.NONE),
        ("orders", 2, -1, -1, "", ErrorCode.NONE),
    ]


def test_unknown_topics_and_partitions_come_first_and_the_others_are_committed(bench: Callable[..., Any]) -> None:
    api = with_coordinator(bench)
    assert commit(api, {("orders", 0): 1, ("nothing", 0): 2, ("orders", 9): 3}) == [
        ("orders", 9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", 0, ErrorCode.NONE),
        ("nothing", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert fetch(api, {"orders": [0]}) == [("orders", 0, 1, -1, "", ErrorCode.NONE)]


def test_a_topic_is_named_by_its_id_since_v10(bench: Callable[..., Any]) -> None:
    api = with_coordinator(bench)
    topic_id = api.cluster.brokers[1].metadata_cache.image.topics["orders"].topic_id
    partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=5)]
    topics = [
        OffsetCommitRequestTopic(topic_id=topic_id, partitions=partitions),
        OffsetCommitRequestTopic(topic_id=b"?" * 16, partitions=partitions),
    ]
    response = api.exchange(OffsetCommitRequest(group_id="readers", topics=topics), 10)
    assert [(each.topic_id, each.partitions[0].error_code) for each in response.topics] == [
        (b"?" * 16, ErrorCode.UNKNOWN_TOPIC_ID),
        (topic_id, ErrorCode.NONE),
    ]
    assert fetch(api, None) == [("orders", 0, 5, -1, "", ErrorCode.NONE)]


def test_metadata_above_the_limit_is_refused_for_its_partition_alone(bench: Callable[..., Any]) -> None:
    api = with_coordinator(bench, config={"offset.metadata.max.bytes": "4"})
    assert commit(api, {("orders", 0): 1}, metadata="12345") == [("orders", 0, ErrorCode.OFFSET_METADATA_TOO_LARGE)]
    assert commit(api, {("orders", 0): 1}, metadata="1234") == [("orders", 0, ErrorCode.NONE)]


@pytest.mark.parametrize(
    ("release", "version", "error"),
    [
        ("4.3.1", 8, ErrorCode.ILLEGAL_GENERATION),
        ("4.3.1", 9, ErrorCode.GROUP_ID_NOT_FOUND),
        ("3.9", 9, ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_a_generation_of_an_unknown_group_is_refused(
    bench: Callable[..., Any], release: str, version: int, error: ErrorCode
) -> None:
    api = with_coordinator(bench, release=release)
    assert commit(api, {("orders", 0): 1}, version, generation_id_or_member_epoch=3, member_id="m") == [
        ("orders", 0, error)
    ]
    assert fetch(api, None) == []


def test_every_partition_is_refused_while_there_is_no_coordinator(bench: Callable[..., Any]) -> None:
    api = bench(topics=[TopicSpec(name="orders", partitions=3)])
    assert commit(api, {("orders", 0): 1, ("orders", 2): 1}) == [
        ("orders", 0, ErrorCode.NOT_COORDINATOR),
        ("orders", 2, ErrorCode.NOT_COORDINATOR),
    ]


def test_partitions_come_in_the_order_of_scalas_maps_before_4_0(bench: Callable[..., Any]) -> None:
    api = with_coordinator(bench, release="3.7.2")
    offsets = {("payments", 0): 1, ("orders", 2): 1, ("orders", 1): 1, ("orders", 0): 1}
    assert [each[:2] for each in commit(api, offsets)] != list(offsets)
    assert sorted(each[:2] for each in commit(api, offsets)) == sorted(offsets)


@pytest.mark.parametrize(
    ("release", "error"),
    [("4.3.1", ErrorCode.UNKNOWN_SERVER_ERROR), ("3.7.2", ErrorCode.INVALID_COMMIT_OFFSET_SIZE)],
)
def test_a_commit_larger_than_a_batch_fails(bench: Callable[..., Any], release: str, error: ErrorCode) -> None:
    api = with_coordinator(bench, release=release, config={"message.max.bytes": "200"})
    assert commit(api, {("orders", 0): 1}, metadata="x" * 300) == [("orders", 0, error)]
    assert fetch(api, None) == []
    assert commit(api, {("orders", 0): 1}) == [("orders", 0, ErrorCode.NONE)]


def offsets_log(api: Any) -> Any:
    leader = api.cluster.brokers[api.cluster.leader_of(OFFSETS_TOPIC, 0)]
    return leader.replica_manager.partitions[OFFSETS_TOPIC, 0].log


@pytest.mark.parametrize(("release", "journal"), [("3.7.2", True), ("3.7.2", False), ("4.3.1", True), ("4.3.1", False)])
def test_the_fast_paths_for_one_partition_commit_what_the_slow_path_commits(
    bench: Callable[..., Any],
    release: str,
    journal: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    applied: list[object] = []

    def conversation() -> list[Any]:
        api = with_coordinator(bench, release=release, config={"offset.metadata.max.bytes": "4"})
        api.cluster.journal.full = journal
        return [
            *[commit(api, {("orders", 1): version}, version) for version in range(1, 10)],
            commit(api, {("orders", 0): 1}, metadata="12345"),
            commit(api, {("orders", 0): 2}, metadata="1234", leader_epoch=7),
            commit(api, {("orders", 3): 1}),
            commit(api, {("nothing", 0): 1}),
            commit(api, {("orders", 0): 1}, generation_id_or_member_epoch=3, member_id="m"),
            commit(api, {("orders", 2): 2}, group_id="others"),
            commit(api, {("orders", 2): 3}, 9, group_id="others", leader_epoch=5),
            commit(api, {("orders", 2): 3}, 9, group_id="others", member_id="m"),
            fetch(api, None),
            [batch.data[21:] for batch in offsets_log(api).batches()],
        ]

    def apply(*commit: Any) -> Any:
        applied.append(original(*commit))
        return applied[-1]

    original = offset_commit._apply
    monkeypatch.setattr(offset_commit, "_apply", apply)
    fast = conversation()
    assert set(applied) == ({False} if journal or release == "3.7.2" else {False, True})
    monkeypatch.setattr(offset_commit, "_apply", lambda *_: False)
    assert conversation() == fast
    monkeypatch.setattr(offset_commit, "only_commit", lambda *_: None)
    assert conversation() == fast


@given(
    version=st.integers(1, 10),
    topic=st.text(alphabet="ab.-_", min_size=1, max_size=249),
    topic_id=st.binary(min_size=16, max_size=16),
    partition=st.integers(0, 2**31 - 1),
    error=st.sampled_from([ErrorCode.NONE, ErrorCode.NOT_COORDINATOR, ErrorCode.UNKNOWN_SERVER_ERROR]),
    correlation_id=st.integers(-(2**31), 2**31 - 1),
)
def test_a_frame_of_the_fast_path_has_the_bytes_of_the_encoder(
    version: int, topic: str, topic_id: bytes, partition: int, error: ErrorCode, correlation_id: int
) -> None:
    one = OffsetCommitResponsePartition(partition_index=partition, error_code=error)
    response = OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name=topic, topic_id=topic_id, partitions=[one])])
    expected = encode_response(response, version, correlation_id=correlation_id)
    tail = frame_tail_of(version, topic, topic_id, partition, error)
    assert frame_with_tail(correlation_id, tail) == expected
