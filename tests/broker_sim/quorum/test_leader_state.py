"""The conclusions of a leader from fetches."""

from __future__ import annotations

from broker_sim.quorum.leader_state import LeaderState
from broker_sim.quorum.raft_settings import RaftSettings


def leader_of(voters: int, *, start: int = 10) -> LeaderState:
    """Node 1 leads nodes 1 to `voters` from an offset on, since 0 ms; check quorum is 3000 ms."""
    return LeaderState(
        local_id=1,
        voters=range(1, voters + 1),
        epoch_start_offset=start,
        granting_voters=[1],
        settings=RaftSettings(fetch_timeout_ms=2_000),
        now_ms=0,
    )


def test_the_high_watermark_is_what_a_majority_has() -> None:
    leader = leader_of(5)
    assert not leader.appended(20)
    assert not leader.fetched(2, 20, 1)
    assert leader.fetched(3, 15, 2)
    assert leader.high_watermark == 15


def test_what_earlier_leaders_wrote_is_not_committed_without_a_record_of_this_epoch() -> None:
    leader = leader_of(3)
    leader.appended(11)
    assert not leader.fetched(2, 10, 1)
    assert leader.high_watermark == -1
    assert leader.fetched(2, 11, 2)
    assert leader.high_watermark == 11


def test_the_high_watermark_never_goes_back() -> None:
    leader = leader_of(3)
    leader.appended(12)
    leader.fetched(2, 12, 1)
    assert not leader.fetched(2, 11, 2)
    assert leader.high_watermark == 12


def test_the_only_voter_commits_alone_and_never_expires() -> None:
    leader = leader_of(1, start=0)
    assert leader.appended(1)
    assert leader.check_quorum_due_ms == float("inf")


def test_a_majority_that_fetches_keeps_the_leader() -> None:
    leader = leader_of(5)
    leader.fetched(2, 0, 1_000)
    assert leader.check_quorum_due_ms == 3_000
    leader.fetched(3, 0, 1_500)
    assert leader.check_quorum_due_ms == 4_500


def test_a_replica_without_a_vote_counts_for_nothing() -> None:
    leader = leader_of(3)
    leader.appended(12)
    assert not leader.fetched(101, 12, 1)
    assert leader.high_watermark == -1
    assert leader.check_quorum_due_ms == 3_000
    assert [each.replica_id for each in leader.active_observers(1)] == [101]
    assert leader.active_observers(300_001) == []


def test_a_replica_was_caught_up_when_it_last_fetched_from_the_end() -> None:
    leader = leader_of(3)
    leader.appended(12)
    leader.fetched(2, 12, 100)
    leader.appended(15)
    leader.fetched(2, 13, 200)
    assert leader.voters[2].last_caught_up_ms == 100
    leader.appended(18)
    leader.fetched(2, 15, 300)
    assert leader.voters[2].last_caught_up_ms == 200


def test_the_longest_log_succeeds_first() -> None:
    leader = leader_of(4)
    leader.appended(20)
    leader.fetched(2, 12, 1)
    leader.fetched(4, 14, 1)
    assert leader.successors() == [4, 2, 3]
