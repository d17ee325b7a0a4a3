"""The last stable offset of a log."""

from __future__ import annotations

import pytest

from tests.broker_sim.log.transactional_log import ABORT, NOW_MS, TransactionalLog


def test_the_last_stable_offset_is_the_start_of_the_first_open_transaction() -> None:
    log = TransactionalLog()
    log.append(0, transactional=False, producer=1)
    assert log.log.last_stable_offset == 1
    log.append(0)
    log.append(0, producer=8)
    assert log.log.last_stable_offset == 1
    log.end()
    assert log.log.last_stable_offset == 2, "producer 8 is not done"
    log.append(1)
    log.end(producer=8)
    assert log.log.last_stable_offset == 4, "producer 7 has begun again"
    log.end()
    assert log.log.last_stable_offset == log.log.log_end_offset == 7


def test_a_completed_transaction_is_stable_when_its_marker_is_replicated() -> None:
    log = TransactionalLog()
    log.append(0, transactional=False, producer=1)
    log.held = True
    log.append(0)
    log.end()
    for high_watermark, stable in ((1, 1), (2, 1), (3, 3)):
        log.log.update_high_watermark(high_watermark)
        assert log.log.last_stable_offset == stable
    log.log.update_high_watermark(2)
    assert log.log.last_stable_offset == 2, "it stays complete when a follower's high watermark goes back"


@pytest.mark.parametrize(("release", "stable"), [("2.4", 2), ("3.9", 2), ("4.0", 0), ("4.3", 0)])
def test_delete_records_within_an_open_transaction_moves_the_last_stable_offset(release: str, stable: int) -> None:
    log = TransactionalLog(release=release)
    log.append(0, count=3)
    log.append(3)
    log.log.maybe_increment_log_start_offset(2)
    assert log.log.last_stable_offset == stable, "since 4.0 the start of the batch"
    log.log.maybe_increment_log_start_offset(3)
    assert log.log.last_stable_offset == 3
    assert log.open_since == 0
    log.end(ABORT)
    assert log.aborted == [(7, 0, 4, 5)]
    assert log.log.last_stable_offset == 5


def test_truncation_reopens_a_transaction_and_forgets_its_abort() -> None:
    log = TransactionalLog()
    log.append(0)
    log.held = True
    log.append(1)
    log.end(ABORT)
    log.append(2)
    assert log.aborted == [(7, 0, 2, 3)]
    log.log.truncate_to(2)
    assert (log.aborted, log.open_since, log.log.last_stable_offset) == ([], 0, 0)
    log.held = False
    log.end()
    assert (log.aborted, log.log.last_stable_offset) == ([], 3)
    log.log.truncate_fully_and_start_at(1)
    assert log.log.last_stable_offset == 1
    assert not log.log.producers.active_producers


def test_truncation_to_an_earlier_segment_uses_its_producer_snapshot() -> None:
    log = TransactionalLog()
    log.append(0, transactional=False, producer=1)
    log.append(0)
    log.log.roll(2, NOW_MS)
    log.held = True
    log.append(1)
    log.end(ABORT)
    log.log.roll(4, NOW_MS)
    log.append(2)
    log.log.truncate_to(3)
    assert (log.open_since, log.log.last_stable_offset) == (1, 1)
