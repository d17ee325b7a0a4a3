"""Timers by key: replaced, extended, cancelled."""

from __future__ import annotations

import pytest

from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from broker_sim.coordinators.runtime.coordinator_timers import CoordinatorTimers
from sim_runtime.virtual_reactor import VirtualReactor


class Bench:
    def __init__(self):
        self.reactor = VirtualReactor()
        self.fired = []
        self.started = self.reactor.seconds()
        self.timers = CoordinatorTimers(self.reactor, self._fired)

    def _fired(self, key, operation, *, retry):
        self.fired.append((key, operation().response, round((self.reactor.seconds() - self.started) * 1000), retry))

    def schedule(self, key, delay_ms, response, **options):
        self.timers.schedule(key, delay_ms, lambda: CoordinatorResult([], response), **options)


@pytest.fixture
def bench():
    return Bench()


def test_a_timer_fires_once(bench):
    bench.schedule("a", 10, 1, retry=False)
    bench.reactor.run_for(ms=100)
    assert bench.fired == [("a", 1, 10, False)]
    assert not bench.timers.is_scheduled("a")


@pytest.mark.parametrize("delay_ms", [5, 50])
def test_a_second_schedule_replaces_the_first(bench, delay_ms):
    bench.schedule("a", 10, 1)
    bench.schedule("a", delay_ms, 2)
    bench.reactor.run_for(ms=100)
    assert bench.fired == [("a", 2, delay_ms, True)]


def test_a_scheduled_key_can_be_left_alone(bench):
    bench.schedule("a", 10, 1)
    bench.timers.schedule_if_absent("a", 20, lambda: CoordinatorResult([], 2))
    bench.reactor.run_for(ms=100)
    assert bench.fired == [("a", 1, 10, True)]


def test_cancelled_timers_do_not_fire(bench):
    for key in "abc":
        bench.schedule(key, 10, key)
    bench.timers.cancel("a")
    assert bench.timers.keys == ["b", "c"]
    bench.timers.cancel_all()
    bench.reactor.run_for(ms=100)
    assert bench.fired == []
    assert bench.reactor.getDelayedCalls() == []


def test_a_timer_without_a_delay_follows_at_once(bench):
    bench.schedule("a", 0, 1)
    bench.schedule("b", -1, 2)
    assert bench.fired == [("a", 1, 0, True), ("b", 2, 0, True)]
    assert bench.timers.keys == []


def test_an_operation_that_is_replaced_before_its_turn_does_nothing(bench):
    waiting = []
    timers = CoordinatorTimers(bench.reactor, lambda key, operation, *, retry: waiting.append(operation))  # noqa: ARG005
    timers.schedule("a", 0, lambda: CoordinatorResult([], 1))
    timers.schedule("a", 0, lambda: CoordinatorResult([], 2))
    timers.schedule("b", 0, lambda: CoordinatorResult([], 3))
    timers.cancel("b")
    assert [operation().response for operation in waiting] == [None, 2, None]


def test_a_timer_that_repeats_itself_lets_the_reactor_run(bench):
    def again():
        bench.timers.schedule("a", 0, again)
        return CoordinatorResult([], len(bench.fired))

    bench.timers.schedule("a", 0, again)
    assert len(bench.fired) == 1
    assert bench.timers.is_scheduled("a")
