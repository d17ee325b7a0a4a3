from __future__ import annotations

from broker_sim.clock import BrokerClock, microseconds_of
from sim_runtime.virtual_reactor import VirtualReactor


def test_a_clock_is_the_reactors_time_until_it_is_touched() -> None:
    reactor = VirtualReactor()
    clock = BrokerClock(reactor)
    reactor.run_for(ms=1_234)
    assert clock.now_ms() == int(reactor.seconds() * 1000)


def test_an_offset_and_jumps_move_the_clock_and_not_the_reactor() -> None:
    reactor = VirtualReactor()
    clock = BrokerClock(reactor, offset_ms=500)
    start_ms = int(reactor.seconds() * 1000)
    clock.jump(-2_000)
    assert clock.now_ms() == start_ms - 1_500
    assert int(reactor.seconds() * 1000) == start_ms


def test_drift_adds_up_from_the_moment_it_is_set() -> None:
    reactor = VirtualReactor()
    clock = BrokerClock(reactor)
    reactor.run_for(ms=10_000)
    clock.set_drift(100)
    reactor.run_for(ms=10_000)
    assert clock.offset_ms == 1.0
    clock.set_drift(0)
    reactor.run_for(ms=10_000)
    assert clock.offset_ms == 1.0


def test_the_microseconds_of_a_virtual_reactor_are_those_of_its_seconds() -> None:
    reactor = VirtualReactor()
    now_us = microseconds_of(reactor)
    for ms in (0, 0.001, 1_234.567):
        reactor.run_for(ms=ms)
        assert now_us() == round(reactor.seconds() * 1e6)
