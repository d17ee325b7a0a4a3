from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest
from twisted.internet.defer import CancelledError, Deferred, succeed

from sim_runtime.deadlines import DeadlineExceeded, deadline, sleep
from sim_runtime.virtual_reactor import VirtualReactor

if TYPE_CHECKING:
    from twisted.python.failure import Failure


@pytest.fixture
def reactor() -> VirtualReactor:
    return VirtualReactor()


def under_deadline(reactor, deferred):
    return deadline(reactor, deferred, 30, awaited="the response of broker 2", option="request_timeout_ms")


def test_a_result_in_time_passes_and_its_timer_goes(reactor):
    waiting: Deferred[str] = Deferred()
    reactor.callLater(0.029, waiting.callback, "result")
    assert reactor.run_until(under_deadline(reactor, waiting)) == "result"
    assert reactor.getDelayedCalls() == []


def test_a_failure_in_time_passes_and_its_timer_goes(reactor):
    waiting: Deferred[str] = Deferred()
    reactor.callLater(0.001, waiting.errback, ConnectionResetError())
    with pytest.raises(ConnectionResetError):
        reactor.run_until(under_deadline(reactor, waiting))
    assert reactor.getDelayedCalls() == []


def test_an_exceeded_deadline_names_event_time_and_option(reactor):
    with pytest.raises(DeadlineExceeded) as caught:
        reactor.run_until(under_deadline(reactor, Deferred()))
    assert str(caught.value) == "waited 30 ms for the response of broker 2; request_timeout_ms allows longer"
    assert reactor.now_us == 1_767_225_600_030_000


def test_an_exceeded_deadline_cancels_what_was_awaited(reactor):
    cancelled: list[Deferred[str]] = []
    waiting: Deferred[str] = Deferred(cancelled.append)
    with pytest.raises(DeadlineExceeded):
        reactor.run_until(under_deadline(reactor, waiting))
    assert cancelled == [waiting]


def test_a_canceller_with_a_result_has_the_last_word(reactor):
    waiting: Deferred[str] = Deferred(lambda it: it.callback("what there was"))
    assert reactor.run_until(under_deadline(reactor, waiting)) == "what there was"


def test_cancelling_from_outside_stays_a_cancellation(reactor):
    guarded = under_deadline(reactor, Deferred())
    failures: list[Failure] = []
    guarded.addErrback(failures.append)
    guarded.cancel()
    assert failures[0].check(CancelledError)
    assert reactor.getDelayedCalls() == []


def test_a_result_that_is_there_needs_no_timer(reactor):
    assert reactor.run_until(under_deadline(reactor, succeed(1))) == 1
    assert reactor.calls_scheduled == 0


def test_a_result_that_waits_for_another_deferred_is_under_the_deadline(reactor):
    inner: Deferred[None] = Deferred()
    outer = succeed(1).addCallback(lambda _: inner)
    with pytest.raises(DeadlineExceeded):
        reactor.run_until(under_deadline(reactor, outer))


def test_sleep_ends_after_its_time_and_can_be_cancelled(reactor):
    reactor.run_until(sleep(reactor, 2.5))
    assert reactor.now_us == 1_767_225_600_002_500
    resting = sleep(reactor, 1000)
    resting.addErrback(lambda failure: failure.trap(CancelledError))
    resting.cancel()
    assert reactor.getDelayedCalls() == []


def test_the_error_survives_pickling():
    error = DeadlineExceeded("metadata", 60_000, "max_block_ms")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
