"""The replicated log: where logs differ, and what is cut off."""

from __future__ import annotations

from broker_sim.quorum.raft_log import OffsetAndEpoch, RaftBatch, RaftLog, RaftStorage


def log_of(*batches: tuple[int, int]) -> RaftLog:
    """Batches of (epoch, how many records)."""
    log = RaftLog()
    for epoch, records in batches:
        base = log.end_offset
        log.append(RaftBatch(base_offset=base, last_offset=base + records - 1, epoch=epoch, content=(epoch, base)))
    return log


def test_an_empty_log_ends_at_offset_0_in_epoch_0() -> None:
    assert RaftLog().end == OffsetAndEpoch(0, 0)


def test_an_empty_log_never_diverges() -> None:
    assert log_of((1, 3)).divergence(0, 0) is None


def test_a_log_that_ends_within_ours_does_not_diverge() -> None:
    assert log_of((1, 3), (2, 2)).divergence(3, 1) is None
    assert log_of((1, 3), (2, 2)).divergence(4, 2) is None


def test_a_log_that_is_longer_in_an_epoch_gets_the_end_of_that_epoch() -> None:
    assert log_of((1, 3), (4, 2)).divergence(5, 1) == OffsetAndEpoch(3, 1)


def test_a_log_with_an_epoch_that_we_lack_gets_the_epoch_before() -> None:
    assert log_of((1, 3), (4, 2)).divergence(5, 3) == OffsetAndEpoch(3, 1)


def test_a_log_of_a_later_epoch_gets_our_end() -> None:
    assert log_of((1, 3)).divergence(5, 2) == OffsetAndEpoch(3, 1)


def test_truncation_removes_what_the_epoch_does_not_have() -> None:
    log = log_of((1, 3), (2, 1), (2, 1))
    assert log.truncate_to(OffsetAndEpoch(3, 1)) == 3
    assert log.end == OffsetAndEpoch(3, 1)
    assert [batch.base_offset for batch in log.batches] == [0]


def test_truncation_to_an_unknown_epoch_keeps_what_is_older() -> None:
    log = log_of((1, 3), (3, 2))
    assert log.truncate_to(OffsetAndEpoch(9, 2)) == 3


def test_truncation_never_keeps_half_a_batch() -> None:
    log = log_of((1, 2), (1, 3))
    assert log.truncate_to(OffsetAndEpoch(4, 1)) == 2


def test_reading_stops_at_the_bound_and_at_the_limit() -> None:
    log = log_of((1, 2), (1, 2), (2, 2))
    assert [batch.base_offset for batch in log.read(2)] == [2, 4]
    assert [batch.base_offset for batch in log.read(0, until=5)] == [0, 2]
    assert [batch.base_offset for batch in log.read(0, limit=1)] == [0]


def test_quorum_state_is_kept_as_kafka_keeps_it() -> None:
    storage = RaftStorage(voters=(1, 2))
    storage.write(epoch=4, leader_id=-1, voted_id=2)
    kept = type(storage.quorum_state).decode(0, storage.quorum_state.encode(0))
    assert (kept.leader_epoch, kept.leader_id, kept.voted_id) == (4, -1, 2)
    assert [voter.voter_id for voter in kept.current_voters or []] == [1, 2]
