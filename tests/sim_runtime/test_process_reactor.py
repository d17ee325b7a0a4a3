from __future__ import annotations

import pytest
from twisted.internet.error import AlreadyCalled, AlreadyCancelled

from sim_runtime.process_reactor import ProcessReactor
from sim_runtime.world import World


def test_a_crash_ends_all_timers_and_no_new_one_begins() -> None:
    world = World(0)
    process = ProcessReactor(world.network.host("client"))
    called: list[str] = []
    process.callLater(1, called.append, "before")
    process.callLater(3, called.append, "after")
    world.run_for(ms=2000)
    process.crash()
    process.callLater(1, called.append, "new")
    world.run_for(ms=5000)
    assert called == ["before"]
    assert process.getDelayedCalls() == []


def test_code_that_crashes_its_own_process_may_still_change_its_timers() -> None:
    world = World(0)
    process = ProcessReactor(world.network.host("client"))
    called: list[str] = []
    timer = process.callLater(5, called.append, "late")

    def crash() -> None:
        process.crash()
        timer.reset(1)
        timer.delay(1)
        timer.cancel()
        called.append("crashed")

    process.callLater(1, crash)
    world.run_for(ms=10_000)
    assert called == ["crashed"]


def test_an_ended_timer_of_a_running_process_is_refused_as_by_twisted() -> None:
    world = World(0)
    process = ProcessReactor(world.network.host("client"))
    cancelled, due = process.callLater(5, lambda: None), process.callLater(1, lambda: None)
    cancelled.cancel()
    world.run_for(ms=1500)
    with pytest.raises(AlreadyCancelled):
        cancelled.reset(1)
    with pytest.raises(AlreadyCalled):
        due.cancel()


def test_a_frozen_process_runs_what_was_due_in_order_when_it_goes_on() -> None:
    world = World(0)
    process = ProcessReactor(world.network.host("client"))
    called: list[int] = []
    for number in (1, 2, 3):
        process.callLater(number, called.append, number)
    world.run_for(ms=1500)
    process.pause()
    world.run_for(ms=5000)
    assert called == [1]
    process.resume()
    world.run_for(ms=0)
    assert called == [1, 2, 3]
