from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.broker_sim.share_partitions.share_group_bench import ShareGroupBench

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4
STATE = ErrorCode.INVALID_RECORD_STATE


def test_types_per_offset_are_stored_and_finished_records_leave(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group()
    share.produce(6)
    share.acquired()
    assert share.acknowledged((0, 5, [ACCEPT, GAP, REJECT, RELEASE, ACCEPT, ACCEPT])) == (0, None)
    assert share.share_partition().start_offset == 3
    assert share.stored() == [
        (0, 0, ACKNOWLEDGED, 1),
        (1, 2, ARCHIVED, 1),
        (3, 3, AVAILABLE, 1),
        (4, 5, ACKNOWLEDGED, 1),
    ]
    assert share.acquired() == [(3, 3, 2)]
    assert share.acknowledged((3, 3, [ACCEPT])) == (0, None)
    assert (share.share_partition().start_offset, len(share.share_partition().batches)) == (6, 0)


@pytest.mark.parametrize(
    ("ranges", "error_code", "text"),
    [
        ([(20, 29, [ACCEPT])], STATE, "The batch cannot be acknowledged. The batch is not in the acquired state."),
        ([(5, 6, [ACCEPT])], STATE, "The offset cannot be acknowledged. The offset is not acquired."),
        ([(5, 34, [ACCEPT])], 42, "Batch record not found. The last offset in request is past acquired records."),
        ([(30, 34, [ACCEPT])], 42, "Batch record not found. The first offset in request is past acquired records."),
        ([(10, 19, [ACCEPT])], STATE, "Member is not the owner of batch record"),
    ],
)
def test_records_that_the_member_has_not_acquired_are_refused(
    share_group: Callable[..., ShareGroupBench],
    ranges: Sequence[tuple[int, int, Sequence[int]]],
    error_code: int,
    text: str,
) -> None:
    share = share_group()
    for _ in range(3):
        share.produce(10)
    share.acquired(batch_size=10)
    assert share.acknowledged((10, 19, [RELEASE]), (5, 6, [RELEASE]), (20, 29, [RELEASE])) == (42, None)
    assert share.acknowledged((5, 6, [RELEASE]), (10, 19, [RELEASE]), (20, 29, [RELEASE])) == (0, None)
    assert share.acquired("other", max_records=2) == [(5, 6, 2)]
    assert share.acquired("other", max_records=10) == [(10, 19, 2)]
    share.acknowledged((5, 6, [RELEASE]), member="other")
    assert share.acknowledged(*ranges) == (error_code, text)


def test_a_refused_range_undoes_the_ranges_before_it(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group()
    share.produce(10)
    share.acquired()
    assert share.acknowledged((0, 4, [ACCEPT]), (5, 20, [ACCEPT]))[0] == ErrorCode.INVALID_REQUEST
    assert share.stored() == []
    assert share.share_partition().complete_count == 0
    assert share.acknowledged((0, 9, [ACCEPT])) == (0, None)


def test_a_lock_that_is_renewed_begins_anew(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group()
    share.produce(2)
    share.acquired()
    share.run(20_000)
    assert share.acknowledged((0, 0, [RENEW]), renew=True) == (0, None)
    share.run(15_000)
    assert share.acquired("other") == [(1, 1, 2)]
    share.run(16_000)
    assert share.acquired("other") == [(0, 0, 2)]
