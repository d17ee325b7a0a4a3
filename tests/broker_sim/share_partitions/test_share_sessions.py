from __future__ import annotations

import pytest

from broker_sim.share_partitions.share_error import ShareError
from broker_sim.share_partitions.share_sessions import SessionKey, ShareSessions, TopicIdPartition
from protocol_specs.error_codes import ErrorCode

KEY = SessionKey("g", "m")
ONE, TWO = TopicIdPartition(bytes(16), 1), TopicIdPartition(bytes(16), 2)


def test_a_session_expects_one_epoch_after_another_and_wraps_to_1() -> None:
    sessions = ShareSessions()
    session = sessions.open(KEY, [ONE], "connection", limit=2)
    assert sessions.at_epoch(KEY, 1) is session
    session.epoch = 2**31 - 1
    session.next_epoch()
    assert session.epoch == 1
    with pytest.raises(ShareError) as wrong:
        sessions.at_epoch(KEY, 2)
    assert wrong.value.error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    with pytest.raises(ShareError) as unknown:
        sessions.at_epoch(SessionKey("g", "other"), 1)
    assert unknown.value.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


def test_partitions_are_added_and_forgotten() -> None:
    session = ShareSessions().open(KEY, [ONE], "connection", limit=1)
    session.update([ONE, TWO], [])
    assert session.partitions == {ONE: False, TWO: True}
    session.update([], [ONE])
    assert session.partitions == {TWO: True}


def test_the_limit_counts_other_members() -> None:
    sessions = ShareSessions()
    sessions.open(KEY, [], "one", limit=1)
    sessions.open(KEY, [], "two", limit=1)
    with pytest.raises(ShareError) as full:
        sessions.open(SessionKey("g", "other"), [], "one", limit=1)
    assert full.value.error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert sessions.of_connection("one") == []
    assert len(sessions.of_connection("two")) == 1


def test_a_partition_that_is_named_twice_is_an_error() -> None:
    with pytest.raises(ShareError) as twice:
        ShareSessions().open(KEY, [ONE, ONE], "connection", limit=1)
    assert twice.value.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
