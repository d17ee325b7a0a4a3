from __future__ import annotations

from broker_sim.replication.isr import FollowerState, IsrChange, committed, expanding, shrinking


def fetched(follower: FollowerState, offset: int, *, now_ms: int, leader_end: int) -> None:
    follower.fetched(
        fetch_offset=offset, log_start_offset=0, now_ms=now_ms, leader_end_offset=leader_end, broker_epoch=1
    )


def test_an_expansion_counts_for_the_high_watermark_before_it_is_committed() -> None:
    state = expanding((1, 2), 3)
    assert (state.isr, state.maximal_isr, state.proposed_isr) == ((1, 2), (1, 2, 3), (1, 2, 3))
    assert state.in_flight


def test_a_shrink_counts_only_when_it_is_committed() -> None:
    state = shrinking((1, 2, 3), (2,))
    assert (state.isr, state.maximal_isr, state.proposed_isr) == ((1, 2, 3), (1, 2, 3), (1, 3))
    assert state.change is IsrChange.SHRINK
    assert not committed((1, 3)).in_flight


def test_a_follower_at_the_leaders_end_is_caught_up_for_ever() -> None:
    follower = FollowerState(2)
    fetched(follower, 10, now_ms=1_000, leader_end=10)
    assert follower.is_caught_up(10, 1_000_000, 100)
    assert not follower.is_caught_up(11, 1_000_000, 100)


def test_a_fetch_that_reaches_the_end_seen_by_the_fetch_before_was_caught_up_back_then() -> None:
    follower = FollowerState(2)
    fetched(follower, 0, now_ms=1_000, leader_end=10)
    fetched(follower, 10, now_ms=2_000, leader_end=20)
    assert follower.last_caught_up_ms == 1_000
    fetched(follower, 19, now_ms=3_000, leader_end=30)
    assert follower.last_caught_up_ms == 1_000, "it has not reached 20, where the leader ended at the fetch before"


def test_a_new_leader_knows_nothing_of_its_followers_but_who_is_in_sync() -> None:
    follower = FollowerState(2)
    fetched(follower, 10, now_ms=1_000, leader_end=10)
    follower.reset(now_ms=5_000, leader_end_offset=12, new_leader=True, in_sync=True)
    assert (follower.log_end_offset, follower.last_caught_up_ms, follower.broker_epoch) == (-1, 5_000, None)
    follower.reset(now_ms=6_000, leader_end_offset=12, new_leader=True, in_sync=False)
    assert follower.last_caught_up_ms == 0


def test_a_leader_that_stays_keeps_what_it_knows_in_a_new_epoch() -> None:
    follower = FollowerState(2)
    fetched(follower, 10, now_ms=1_000, leader_end=10)
    follower.reset(now_ms=5_000, leader_end_offset=12, new_leader=False, in_sync=True)
    assert (follower.log_end_offset, follower.last_fetch_leader_end_offset) == (10, 12)
