"""The aborted transactions of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.broker_sim.log.transactional_log import ABORT, COMMIT, NOW_MS, TransactionalLog

if TYPE_CHECKING:
    from broker_sim.log.replica_log import ReplicaLog


def test_the_index_has_aborted_transactions_with_the_stable_offset_of_that_time() -> None:
    log = TransactionalLog()
    log.append(0)  # 0
    log.append(0, producer=8)  # 1
    log.append(0, producer=9)  # 2
    log.end(ABORT, producer=8)  # 3
    log.end(COMMIT, producer=9)  # 4
    log.end(ABORT)  # 5
    assert log.aborted == [(8, 1, 3, 0), (7, 0, 5, 6)]


@pytest.mark.parametrize(("release", "indexed"), [("0.11", True), ("2.7", True), ("2.8", False), ("4.3", False)])
def test_the_abort_of_an_empty_transaction_was_indexed_before_2_8(release: str, indexed: bool) -> None:
    log = TransactionalLog(release=release)
    log.end(ABORT)
    assert log.aborted == ([(7, 0, 0, 1)] if indexed else [])
    assert log.log.last_stable_offset == 1


def _three_segments() -> ReplicaLog:
    """Producer 8 aborts in each segment; producer 7 from the first segment on, with its marker in the third."""
    log = TransactionalLog()
    log.append(0)  # 0
    for index in range(3):
        log.append(index, producer=8)  # 1, 3, 5
        log.end(ABORT, producer=8)  # 2, 4, 6
        if index < 2:
            log.log.roll(log.log.log_end_offset, NOW_MS)
    log.end(ABORT)  # 7
    log.append(3, producer=8)  # 8
    log.end(ABORT, producer=8)  # 9
    return log.log


@pytest.mark.parametrize(
    ("fetch_offset", "bound", "firsts"),
    [
        (0, 1, [0]),
        (0, 3, [1, 0]),
        (3, 5, [3, 0]),
        (3, 10, [3, 5, 0, 8]),
        (5, 6, [5, 0]),
        (8, 10, [8]),
    ],
)
def test_a_range_has_the_transactions_that_overlap_with_it_also_of_later_segments(
    fetch_offset: int, bound: int, firsts: list[int]
) -> None:
    found = _three_segments().aborted_transactions(fetch_offset, bound)
    assert [each.first_offset for each in found] == firsts


def test_a_read_is_bounded_by_the_offset_index() -> None:
    log = TransactionalLog(index_interval_bytes="1000")
    for index in range(8):
        log.append(index, size=600)  # 0, 2, 4, ...
        log.end(ABORT)
    whole = log.log
    assert whole.segments[0].indexed_offsets
    first = whole.read(0, max_bytes=1)
    bound = whole.segments[0].upper_bound_offset(0, first[0].size)
    assert bound is not None
    found = whole.aborted_transactions_of_read(0, first)
    assert found == whole.aborted_transactions(0, bound)
    assert 1 < len(found) < 8, "more than the batch needs, up to the next entry of the index"
    last = whole.read(14, max_bytes=1)
    assert [each.first_offset for each in whole.aborted_transactions_of_read(14, last)] == [14]
    assert [each.first_offset for each in whole.aborted_transactions_of_read(14, [])] == [14], "no room for a batch"
    assert whole.aborted_transactions_of_read(16, []) == []


def test_a_follower_has_the_same_state_as_its_leader() -> None:
    leader = _three_segments()
    follower = TransactionalLog().log
    follower.append_as_follower(list(leader.batches()), now_ms=NOW_MS)
    assert follower.last_stable_offset == 0
    follower.update_high_watermark(10)
    assert follower.last_stable_offset == leader.last_stable_offset == 10
    assert follower.aborted_transactions(0, 10) == leader.aborted_transactions(0, 10)
    assert follower.producers.active_producers == leader.producers.active_producers


def test_the_first_entry_of_the_offset_index_bounds_no_read_that_ends_at_it() -> None:
    log = TransactionalLog(index_interval_bytes="0")
    for index in range(4):
        log.append(index)
    segment = log.log.segments[0]
    size = segment.batches[0].size
    assert segment.indexed_positions == [size, 2 * size, 3 * size]
    bounds = [segment.upper_bound_offset(0, length) for length in (size - 1, size, size + 1, 2 * size, 3 * size + 1)]
    assert bounds == [1, 2, 2, 2, None]
