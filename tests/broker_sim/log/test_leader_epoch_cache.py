from __future__ import annotations

import pytest

from broker_sim.log.leader_epoch_cache import EpochEndOffset, LeaderEpochCache


@pytest.fixture
def cache() -> LeaderEpochCache:
    cache = LeaderEpochCache()
    for epoch, start_offset in ((1, 10), (3, 20), (4, 35)):
        cache.assign(epoch, start_offset)
    return cache


def test_empty_cache_knows_no_epoch() -> None:
    cache = LeaderEpochCache()
    assert cache.latest_epoch is None
    assert cache.end_offset_for(0, 5) == EpochEndOffset(-1, -1)
    assert cache.epoch_for(0) is None


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        (-1, (-1, -1)),
        (0, (0, 10)),
        (1, (1, 20)),
        (2, (1, 20)),
        (3, (3, 35)),
        (4, (4, 50)),
        (5, (-1, -1)),
    ],
)
def test_end_offset_is_where_the_next_epoch_starts(
    cache: LeaderEpochCache, epoch: int, expected: tuple[int, int]
) -> None:
    assert cache.end_offset_for(epoch, 50) == expected


def test_same_epoch_keeps_its_first_offset(cache: LeaderEpochCache) -> None:
    cache.assign(4, 40)
    assert cache.entries[-1] == (4, 35)


def test_new_epoch_removes_entries_that_contradict_it(cache: LeaderEpochCache) -> None:
    cache.assign(5, 20)
    assert cache.entries == ((1, 10), (5, 20))
    cache.assign(2, 30)
    assert cache.entries == ((1, 10), (2, 30))


def test_truncation_from_the_end_forgets_epochs_that_start_there(cache: LeaderEpochCache) -> None:
    cache.truncate_from_end(20)
    assert cache.entries == ((1, 10),)


def test_truncation_from_the_start_keeps_the_covering_epoch(cache: LeaderEpochCache) -> None:
    cache.truncate_from_start(25)
    assert cache.entries == ((3, 25), (4, 35))
    cache.truncate_from_start(5)
    assert cache.entries == ((3, 25), (4, 35))


def test_epoch_of_an_offset_is_the_last_one_that_started_before_it(cache: LeaderEpochCache) -> None:
    assert [cache.epoch_for(offset) for offset in (9, 10, 19, 20, 99)] == [None, 1, 1, 3, 4]
