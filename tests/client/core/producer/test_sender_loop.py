"""When turns are taken: at their time, at an event, and once for many wake-ups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from twisted.logger import Logger, formatEvent

from broker_client.core.producer.sender_loop import NEVER_MS, SenderLoop

if TYPE_CHECKING:
    from sim_runtime.world import World


class Turns:
    """Records the times of its iterations, and returns the given delays (then NEVER_MS)."""

    def __init__(self, world: World, delays_ms: list[int]) -> None:
        self.world = world
        self.delays_ms = delays_ms
        self.began_us = world.reactor.now_us
        self.at_ms: list[float] = []
        self.loop = SenderLoop(
            runnable=self,
            reactor=world.reactor,
            call_from_thread=lambda function: world.reactor.callLater(0, function),
        )

    def run_once(self, now_ms: int) -> int:
        assert now_ms == self.world.reactor.now_us // 1000
        self.at_ms.append((self.world.reactor.now_us - self.began_us) / 1000)
        if not self.delays_ms:
            return NEVER_MS
        delay = self.delays_ms.pop(0)
        if delay < 0:
            raise ValueError("a turn went wrong")
        return delay


def test_a_turn_is_taken_when_time_is_due(world: World) -> None:
    turns = Turns(world, [5, 10])
    turns.loop.wakeup()
    world.run_for(ms=100)
    assert turns.at_ms == [0, 5, 15]


def test_many_wakeups_make_one_turn(world: World) -> None:
    turns = Turns(world, [])
    for _ in range(100):
        turns.loop.wakeup()
    turns.loop.on_event()
    world.run_for(ms=1)
    assert turns.at_ms == [0]


def test_an_iteration_that_runs_now_is_the_one_that_was_requested(world: World) -> None:
    turns = Turns(world, [])
    turns.loop.wakeup()
    turns.loop.run_now()
    assert turns.at_ms == [0]
    world.run_for(ms=1)
    assert turns.at_ms == [0]
    turns.loop.wakeup()
    world.run_for(ms=1)
    assert turns.at_ms == [0, 1]


def test_an_iteration_that_is_due_at_once_follows_and_the_reactor_runs_in_between(world: World) -> None:
    turns = Turns(world, [0] * 30)
    turns.loop.wakeup()
    world.run_for(ms=0)
    assert turns.at_ms == [0] * 31
    assert world.reactor.calls_made == 4


def test_an_iteration_can_be_due_earlier_than_planned_but_not_later(world: World) -> None:
    turns = Turns(world, [50])
    turns.loop.run_within(20)
    turns.loop.run_within(30)
    world.run_for(ms=25)
    assert turns.at_ms == [20]
    turns.loop.run_within(10)
    world.run_for(ms=20)
    assert turns.at_ms == [20, 35]
    turns.loop.stop()
    turns.loop.run_within(0)
    world.run_for(ms=1)
    assert turns.at_ms == [20, 35]


def test_an_event_comes_before_the_time(world: World) -> None:
    turns = Turns(world, [50, 50])
    turns.loop.wakeup()
    world.run_for(ms=10)
    turns.loop.on_event()
    world.run_for(ms=45)
    assert turns.at_ms == [0, 10]
    world.run_for(ms=10)
    assert turns.at_ms == [0, 10, 60]


def test_an_error_is_counted_and_the_next_turn_goes_on(world: World) -> None:
    turns = Turns(world, [-1, 5])
    turns.loop.wakeup()
    world.run_for(ms=50)
    assert turns.loop.errors == 1
    assert turns.at_ms == [0, 1, 6]


@pytest.mark.parametrize("wake", ["wakeup", "on_event"])
def test_a_stopped_loop_takes_no_turn(world: World, wake: str) -> None:
    turns = Turns(world, [5, 5, 5])
    turns.loop.wakeup()
    world.run_for(ms=1)
    turns.loop.stop()
    getattr(turns.loop, wake)()
    world.run_for(ms=50)
    assert turns.at_ms == [0]


def test_an_error_that_repeats_is_logged_once_and_counted_at_the_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[str] = []
    logger = Logger(observer=lambda event: logged.append(formatEvent(event)), namespace="test")
    monkeypatch.setattr("broker_client.core.producer.sender_loop._log", logger)
    turns = Turns(world, [-1] * 7)
    turns.loop.wakeup()
    world.run_for(ms=100)
    assert turns.loop.errors == 7
    assert logged == ["network loop: uncaught error"]
    turns.loop.stop()
    assert logged[1:] == ["network loop: uncaught error repeated count=7 error=ValueError: a turn went wrong"]
