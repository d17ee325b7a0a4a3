from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.share_partitions.share_group_bench import ShareGroupBench

ACCEPT, RELEASE, REJECT = 1, 2, 3


def test_a_range_is_divided_at_the_batches_of_the_log(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group()
    for count in (3, 4, 5, 6):
        share.produce(count)
    assert share.acquired(batch_size=5) == [(0, 6, 1), (7, 11, 1), (12, 17, 1)]


def test_the_soft_limit_acquires_whole_batches(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group()
    share.produce(3)
    share.produce(4)
    assert share.acquired(max_records=4) == [(0, 6, 1)]


def test_the_hard_limit_leaves_the_rest_of_a_batch_available(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group()
    share.produce(10)
    assert share.acquired(max_records=4, share_acquire_mode=1) == [(0, 3, 1)]
    assert share.acquired("other", max_records=4, share_acquire_mode=1) == [(4, 7, 1)]
    assert share.acquired("other") == [(8, 9, 1)]


def test_released_records_are_delivered_again_with_a_higher_count(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group()
    share.produce(10)
    assert share.acquired() == [(0, 9, 1)]
    assert share.acknowledged((2, 4, [RELEASE])) == (0, None)
    assert share.acquired("other") == [(2, 4, 2)]


def test_a_batch_that_fails_goes_out_alone_and_in_halving_pieces(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group()
    share.produce(16)
    ranges = []
    for _ in range(9):
        [(first, last, count)] = share.acquired()
        ranges.append((first, last, count))
        assert share.acknowledged((first, last, [RELEASE])) == (0, None)
    assert ranges == [
        (0, 15, 1),
        (0, 15, 2),
        (0, 15, 3),
        (0, 7, 4),
        (0, 0, 5),
        (1, 1, 5),
        (2, 2, 5),
        (3, 3, 5),
        (4, 4, 5),
    ]


def test_no_more_than_the_limit_of_records_is_in_delivery(share_group: Callable[..., ShareGroupBench]) -> None:
    share = share_group(group_share_partition_max_record_locks="100", group_share_min_partition_max_record_locks="100")
    for _ in range(12):
        share.produce(10)
    assert share.acquired() == [(0, 99, 1)]
    assert share.acquired() == []
    assert share.acknowledged((50, 59, [RELEASE])) == (0, None)
    assert share.acquired() == [(50, 59, 2)]
    assert share.acknowledged((0, 9, [ACCEPT])) == (0, None)
    assert share.acquired() == [(100, 109, 1)]
