from __future__ import annotations

import gc

import pytest
from twisted.internet.defer import Deferred, fail
from twisted.logger import globalLogPublisher

from sim_runtime.deadlines import DeadlineExceeded, sleep
from sim_runtime.world import World


@pytest.fixture
def world() -> World:
    return World(seed=3)


def test_run_methods_move_its_reactor(world):
    world.run_for(ms=4)
    world.run_until(sleep(world.reactor, 1))
    assert world.reactor.now_us == 1_767_225_600_005_000
    with pytest.raises(DeadlineExceeded, match="the moon"):
        world.run_until(Deferred(), deadline_ms=1, awaited="the moon")


def test_an_unhandled_error_in_a_deferred_fails_the_run(world):
    world.reactor.callLater(0.001, lambda: fail(LookupError("forgotten")) and None)
    with pytest.raises(LookupError, match="forgotten"):
        world.run_for(ms=5)
    world.run_for(ms=5)


def test_a_run_that_fails_by_itself_keeps_its_own_error(world):
    def broken() -> None:
        fail(LookupError("forgotten"))
        raise KeyError("seen")

    world.reactor.callLater(0, broken)
    with pytest.raises(KeyError, match="seen"):
        world.run_for(ms=5)


def test_failures_outside_a_run_are_not_its_own(world):
    observers = list(globalLogPublisher._observers)
    world.run_for(ms=1)
    assert list(globalLogPublisher._observers) == observers
    handled = fail(LookupError("handled"))
    handled.addErrback(lambda _: None)
    gc.collect()
    world.run_for(ms=1)


def test_the_fingerprint_covers_time_calls_draws_and_reports(world):
    prints = [world.fingerprint()]
    world.run_for(ms=1)
    prints.append(world.fingerprint())
    world.reactor.callLater(0, lambda: None)
    prints.append(world.fingerprint())
    world.digest.update("elected", 2)
    prints.append(world.fingerprint())
    world.streams.stream("election").random()
    prints.append(world.fingerprint())
    assert len(dict.fromkeys(prints)) == len(prints)
