from __future__ import annotations

import signal

import pytest
from twisted.internet.defer import Deferred

from broker_scenarios.sweeps.time_limit import TimeLimitExceeded, time_limit

LIMIT_S = 0.05


def spin(_: object = None) -> None:
    while True:
        pass


def test_an_endless_loop_is_stopped() -> None:
    with (
        pytest.raises(TimeLimitExceeded, match=r"^it did not end within 0.05 s \(--seed-limit\)$"),
        time_limit(LIMIT_S),
    ):
        spin()


def test_a_loop_in_a_callback_is_stopped_though_its_deferred_catches_the_interruption() -> None:
    went_on = []
    caught: Deferred[None] = Deferred()
    caught.addCallback(spin)
    caught.addErrback(went_on.append)
    with pytest.raises(TimeLimitExceeded), time_limit(LIMIT_S):
        caught.callback(None)
    assert len(went_on) == 1


def test_a_body_that_ends_in_time_keeps_its_error_and_the_timer_of_its_caller() -> None:
    handler, (before_s, _) = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    assert before_s > 0, "pytest-timeout has set it"
    with pytest.raises(KeyError), time_limit(60):
        raise KeyError
    after_s, _ = signal.getitimer(signal.ITIMER_REAL)
    assert before_s - 30 < after_s <= before_s
    assert signal.getsignal(signal.SIGALRM) is handler
