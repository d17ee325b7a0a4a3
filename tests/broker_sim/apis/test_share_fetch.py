from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.share_fetch import FetchPartition, FetchTopic, ForgottenTopic, ShareFetchRequest
from tests.broker_sim.share_partitions.share_group_bench import ShareGroupBench

if TYPE_CHECKING:
    from collections.abc import Iterator

ACCEPT = 1


@pytest.fixture
def share() -> Iterator[ShareGroupBench]:
    bench = ShareGroupBench({"group.share.max.share.sessions": "2", "group.share.max.size": "2"}, 2)
    yield bench
    bench.cluster.close()


def partitions(response: Any) -> list[tuple[int, int, int, bool]]:
    return [
        (each.partition_index, each.error_code, each.acknowledge_error_code, bool(each.records))
        for topic in response.responses
        for each in topic.partitions
    ]


@pytest.mark.parametrize(
    ("fields", "error_code"),
    [
        ({"group_id": None}, ErrorCode.INVALID_REQUEST),
        ({"member_id": None}, ErrorCode.INVALID_REQUEST),
        ({"member_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"member_id": "m" * 37}, ErrorCode.INVALID_REQUEST),
        ({"is_renew_ack": True}, ErrorCode.INVALID_REQUEST),
        ({"share_session_epoch": 1}, ErrorCode.SHARE_SESSION_NOT_FOUND),
        ({"share_session_epoch": -1}, ErrorCode.SHARE_SESSION_NOT_FOUND),
        ({"share_acquire_mode": 9}, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_request_that_fails_as_a_whole(share: ShareGroupBench, fields: Any, error_code: int) -> None:
    request = share.fetch_request()
    for name, value in fields.items():
        setattr(request, name, value)
    response = share.call(request, 2)
    assert (response.error_code, response.responses, response.acquisition_lock_timeout_ms) == (error_code, [], 0)


def test_the_first_response_names_all_partitions_and_later_ones_those_with_records(share: ShareGroupBench) -> None:
    share.fetch("other", partitions=[0, 1])
    share.produce(2)
    first = share.fetch(partitions=[0, 1])
    assert sorted(partitions(first)) == [(0, 0, 0, True), (1, 0, 0, False)]
    assert first.acquisition_lock_timeout_ms == 30_000
    assert partitions(share.fetch()) == []
    share.produce(2, partition=1)
    assert partitions(share.fetch()) == [(1, 0, 0, True)]


def test_acknowledgements_run_before_the_fetch(share: ShareGroupBench) -> None:
    share.produce(2)
    share.acquired()
    response = share.fetch(acks={0: [(0, 1, [ACCEPT])], 1: [(0, 1, [ACCEPT])]})
    assert sorted(partitions(response)) == [(0, 0, 0, False), (1, 0, 3, False)]
    assert share.share_partition().start_offset == 2


def test_acknowledgements_cannot_open_a_session(share: ShareGroupBench) -> None:
    assert share.fetch(acks={0: [(0, 1, [ACCEPT])]}).error_code == ErrorCode.INVALID_REQUEST


def test_a_partition_that_does_not_exist_has_an_error_until_it_is_forgotten(share: ShareGroupBench) -> None:
    assert sorted(partitions(share.fetch(partitions=[0, 7]))) == [(0, 0, 0, False), (7, 3, 0, False)]
    assert partitions(share.fetch()) == [(7, 3, 0, False)]
    request = share.fetch_request()
    request.forgotten_topics_data = [ForgottenTopic(topic_id=share.topic_id, partitions=[7])]
    assert partitions(share.call(request, 2)) == []


def test_an_unknown_topic_id_fails_the_request(share: ShareGroupBench) -> None:
    request: ShareFetchRequest = share.fetch_request()
    request.topics = [FetchTopic(topic_id=b"\1" * 16, partitions=[FetchPartition(partition_index=0)])]
    assert share.call(request, 2).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert share.fetch().error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_session_above_the_limit_is_refused_after_the_wait(share: ShareGroupBench) -> None:
    share.fetch("one")
    share.fetch("two")
    before = share.reactor.seconds()
    assert share.fetch("three", max_wait_ms=700).error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert (share.reactor.seconds() - before) * 1000 == pytest.approx(700, abs=1)


def test_share_groups_that_are_off_are_unsupported(share: ShareGroupBench) -> None:
    broker = share.cluster.brokers[1]
    image = broker.metadata_cache.image
    broker.metadata_cache.image = image.with_finalized_features({})
    assert share.fetch().error_code == ErrorCode.UNSUPPORTED_VERSION
    assert share.acknowledge((0, 0, [ACCEPT]), epoch=1).error_code == ErrorCode.UNSUPPORTED_VERSION
