"""Sessions that end, and sessions of brokers that had no processor."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.task import Clock

from broker_sim.controller.broker_sessions import GRACE_S, STALL_S, BrokerSessions

TIMEOUT_S = 1.0


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def expired() -> list[int]:
    return []


@pytest.fixture
def sessions(clock: Any, expired: list[int]) -> BrokerSessions:
    sessions = BrokerSessions(clock, int(TIMEOUT_S * 1000), expired.append)
    sessions.register(1, broker_epoch=7)
    return sessions


def test_a_session_ends_a_timeout_after_the_last_heartbeat(
    clock: Clock, sessions: BrokerSessions, expired: list[int]
) -> None:
    clock.advance(TIMEOUT_S / 2)
    sessions.touch(1, metadata_version=0)
    clock.advance(TIMEOUT_S / 2)
    assert expired == []
    assert sessions.has_session(1)
    clock.advance(TIMEOUT_S / 2)
    assert expired == [1]
    assert not sessions.is_valid(1)


def test_time_in_which_the_process_had_no_processor_does_not_count(
    clock: Clock, sessions: BrokerSessions, expired: list[int]
) -> None:
    late_s = 3 * TIMEOUT_S
    clock.advance(TIMEOUT_S + late_s)  # every timer of this time is called now
    assert expired == []
    assert sessions.is_valid(1)
    sessions.touch(1, metadata_version=0)
    clock.advance(TIMEOUT_S - 0.001)
    assert expired == []


def test_a_stall_delays_the_end_of_a_silent_broker(clock: Clock, sessions: BrokerSessions, expired: list[int]) -> None:
    clock.advance(TIMEOUT_S + 0.2)
    clock.advance(0.199)
    assert expired == []
    clock.advance(0.001)
    assert expired == [1]


def test_a_short_delay_of_a_timer_counts(clock: Clock, sessions: BrokerSessions, expired: list[int]) -> None:
    clock.advance(TIMEOUT_S + STALL_S - 0.001)
    assert expired == [1]


def test_a_stall_that_ends_soon_after_the_timer_was_due_leaves_time_for_heartbeats(
    clock: Clock, sessions: BrokerSessions, expired: list[int]
) -> None:
    clock.advance(TIMEOUT_S + 2 * STALL_S)
    clock.advance(GRACE_S - 0.001)
    assert expired == []
    clock.advance(0.001 + STALL_S / 2)
    assert expired == [1]
