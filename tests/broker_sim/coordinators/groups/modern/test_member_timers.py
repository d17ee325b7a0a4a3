"""The timers of members."""

from __future__ import annotations

import pytest

from broker_sim.coordinators.groups.modern.member_timers import MemberTimers
from broker_sim.coordinators.runtime.coordinator_timers import CoordinatorTimers
from sim_runtime.virtual_reactor import VirtualReactor


class Fixture:
    def __init__(self):
        self.reactor = VirtualReactor()
        self.removed: list = []
        timers = CoordinatorTimers(self.reactor, lambda _key, operation, **_: operation())
        self.timers = MemberTimers(timers, lambda *facts: self.removed.append(facts))


@pytest.fixture
def fixture():
    return Fixture()


def test_each_timer_removes_its_member(fixture):
    fixture.timers.start_session("g", "a", 100)
    fixture.timers.start_rebalance("g", "b", 4, 200)
    fixture.timers.start_join_unless_running("g", "c", 300)
    fixture.timers.start_sync("g", "d", 400)
    fixture.reactor.run_for(ms=500)
    assert fixture.removed == [
        ("g", "a", "the member session expired.", None),
        ("g", "b", "it failed to transition from epoch 4 within 200ms.", 4),
        ("g", "c", "the classic member failed to join within the rebalance timeout.", None),
        ("g", "d", "the member failed to sync within timeout.", None),
    ]


def test_a_running_join_timer_keeps_its_deadline(fixture):
    fixture.timers.start_join_unless_running("g", "a", 100)
    fixture.timers.start_join_unless_running("g", "a", 900)
    fixture.reactor.run_for(ms=100)
    assert len(fixture.removed) == 1


def test_timers_stop_one_by_one_or_together(fixture):
    fixture.timers.start_rebalance("g", "a", 1, 100)
    fixture.timers.start_join_unless_running("g", "a", 100)
    fixture.timers.start_sync("g", "a", 100)
    fixture.timers.start_session("g", "b", 100)
    fixture.timers.start_sync("g", "b", 100)
    fixture.timers.stop_rebalance("g", "a")
    fixture.timers.stop_join("g", "a")
    fixture.timers.stop_sync("g", "a")
    fixture.timers.stop_all("g", "b")
    fixture.reactor.run_for(ms=200)
    assert fixture.removed == []
