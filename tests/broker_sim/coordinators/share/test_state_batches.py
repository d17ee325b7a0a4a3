from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_sim.coordinators.share.state_batches import StateBatch, combined

AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4


def batch(first: int, last: int, count: int = 1, state: int = AVAILABLE) -> StateBatch:
    return StateBatch(first, last, count, state)


@pytest.mark.parametrize(
    ("given_batches", "expected"),
    [
        ([batch(0, 9), batch(10, 19)], [batch(0, 19)]),
        ([batch(0, 9), batch(11, 19)], [batch(0, 9), batch(11, 19)]),
        ([batch(0, 9), batch(3, 4, 2)], [batch(0, 2), batch(3, 4, 2), batch(5, 9)]),
        ([batch(0, 9, 2), batch(3, 14, 1)], [batch(0, 9, 2), batch(10, 14, 1)]),
        ([batch(0, 9), batch(0, 9, 1, ACKNOWLEDGED)], [batch(0, 9, 1, ACKNOWLEDGED)]),
        ([batch(0, 9), batch(5, 9, 1, ARCHIVED)], [batch(0, 4), batch(5, 9, 1, ARCHIVED)]),
        ([batch(0, 4, 2), batch(0, 9, 1)], [batch(0, 4, 2), batch(5, 9, 1)]),
        ([batch(0, 4), batch(3, 4), batch(5, 9)], [batch(0, 9)]),
    ],
)
def test_the_higher_count_and_state_win_where_batches_overlap(
    given_batches: list[StateBatch], expected: list[StateBatch]
) -> None:
    assert list(combined(given_batches, -1)) == expected


def test_a_batch_before_an_overlap_is_not_merged_with_the_result() -> None:
    batches = [batch(0, 4, 1, ARCHIVED), batch(5, 9), batch(5, 12, 1, ARCHIVED)]
    assert combined(batches, -1) == (batch(0, 4, 1, ARCHIVED), batch(5, 12, 1, ARCHIVED))


def test_offsets_below_the_start_offset_are_dropped() -> None:
    assert combined([batch(0, 4), batch(5, 9, 2), batch(20, 29)], 7) == (batch(7, 9, 2), batch(20, 29))
    assert combined([batch(0, 4)], 5) == ()


batches = st.builds(
    lambda first, length, count, state: batch(first, first + length, count, state),
    st.integers(0, 30),
    st.integers(0, 8),
    st.integers(1, 3),
    st.sampled_from([AVAILABLE, ACKNOWLEDGED, ARCHIVED]),
)


@given(st.lists(batches, max_size=12))
def test_every_offset_keeps_its_highest_count_and_state(given_batches: list[StateBatch]) -> None:
    expected: dict[int, tuple[int, int]] = {}
    for each in given_batches:
        for offset in range(each.first_offset, each.last_offset + 1):
            expected[offset] = max(expected.get(offset, each.priority), each.priority)
    result = combined(given_batches, -1)
    assert all(one.last_offset < two.first_offset for one, two in itertools.pairwise(result))
    returned = {offset: each.priority for each in result for offset in range(each.first_offset, each.last_offset + 1)}
    assert returned == expected
