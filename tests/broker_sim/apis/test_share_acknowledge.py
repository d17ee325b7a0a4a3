from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from protocol_specs.error_codes import ErrorCode
from tests.broker_sim.share_partitions.share_group_bench import ShareGroupBench

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4


@pytest.fixture
def share() -> Iterator[ShareGroupBench]:
    bench = ShareGroupBench({}, 2)
    bench.produce(10)
    bench.acquired()
    yield bench
    bench.cluster.close()


def test_the_epoch_is_the_one_of_the_session(share: ShareGroupBench) -> None:
    wrong = ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert share.acknowledge((0, 0, [ACCEPT]), epoch=0).error_code == wrong
    assert share.acknowledge((0, 0, [ACCEPT]), epoch=7).error_code == wrong
    assert share.acknowledge((0, 0, [ACCEPT]), member="x", epoch=1).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert share.acknowledge((0, 0, [ACCEPT])).error_code == 0
    assert share.fetch().error_code == 0


@pytest.mark.parametrize(
    "ranges",
    [
        [(1, 0, [ACCEPT])],
        [(0, 3, [ACCEPT]), (2, 5, [ACCEPT])],
        [(0, 0, [])],
        [(0, 2, [ACCEPT, ACCEPT])],
        [(0, 0, [7])],
        [(0, 0, [-1])],
        [(0, 0, [RENEW])],
    ],
)
def test_malformed_ranges_are_invalid(share: ShareGroupBench, ranges: Sequence[tuple[int, int, Sequence[int]]]) -> None:
    assert share.acknowledged(*ranges) == (ErrorCode.INVALID_REQUEST, None)


def test_a_range_may_begin_where_the_one_before_ends_in_kafka(share: ShareGroupBench) -> None:
    code, text = share.acknowledged((0, 3, [ACCEPT]), (3, 5, [ACCEPT]))
    assert (code, text) == (
        ErrorCode.INVALID_RECORD_STATE,
        "The offset cannot be acknowledged. The offset is not acquired.",
    )


def test_a_partition_without_a_share_partition_is_unknown(share: ShareGroupBench) -> None:
    assert share.acknowledged((0, 0, [ACCEPT]), partition=1) == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "This server does not host this topic-partition.",
    )
    assert share.acknowledged((0, 0, [ACCEPT]), partition=9) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)


def test_partitions_without_ranges_alone_are_not_in_the_response(share: ShareGroupBench) -> None:
    assert share.acknowledge().responses == []


def test_the_final_epoch_releases_the_other_records(share: ShareGroupBench) -> None:
    response = share.acknowledge((0, 4, [ACCEPT]), epoch=-1)
    assert (response.error_code, response.responses[0].partitions[0].error_code) == (0, 0)
    assert response.acquisition_lock_timeout_ms == 30_000
    assert share.acquired("other") == [(5, 9, 2)]
