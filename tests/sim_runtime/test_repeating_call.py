from __future__ import annotations

import pytest
from twisted.internet.task import Clock

from sim_runtime.repeating_call import RepeatingCall
from sim_runtime.virtual_reactor import VirtualReactor


@pytest.fixture
def reactor() -> VirtualReactor:
    return VirtualReactor()


def test_calls_run_at_exact_multiples_of_the_interval(reactor):
    turns: list[int] = []
    begin = reactor.now_us
    RepeatingCall(reactor, 100, lambda: turns.append(reactor.now_us - begin)).start()
    reactor.run_for(ms=100 * 3000)
    assert turns == [100_000 * (n + 1) for n in range(3000)]


@pytest.mark.parametrize("interval_ms", [0.3, 1.7, 33.333])
def test_odd_intervals_do_not_drift(reactor, interval_ms):
    turns: list[int] = []
    begin = reactor.now_us
    RepeatingCall(reactor, interval_ms, lambda: turns.append(reactor.now_us - begin)).start()
    reactor.run_for(ms=interval_ms * 2000.5)
    assert len(turns) == 2000
    assert abs(turns[-1] - interval_ms * 2_000_000) <= 1


def test_the_first_call_may_run_sooner(reactor):
    turns: list[int] = []
    begin = reactor.now_us
    RepeatingCall(reactor, 100, lambda: turns.append(reactor.now_us - begin)).start(initial_delay_ms=0)
    reactor.run_for(ms=250)
    assert turns == [0, 100_000, 200_000]


def test_stop_ends_it_also_from_within_and_it_may_start_again(reactor):
    turns: list[float] = []

    def turn() -> None:
        turns.append(reactor.seconds())
        if len(turns) == 2:
            repeating.stop()

    repeating = RepeatingCall(reactor, 10, turn)
    repeating.start()
    assert repeating.running
    reactor.run_for(ms=100)
    assert len(turns) == 2
    assert not repeating.running
    repeating.stop()
    repeating.start()
    reactor.run_for(ms=20)
    assert len(turns) == 4


def test_it_goes_on_after_an_error(reactor):
    turns: list[float] = []

    def turn() -> None:
        turns.append(reactor.seconds())
        if len(turns) == 1:
            raise OSError("disk full")

    RepeatingCall(reactor, 10, turn).start()
    with pytest.raises(OSError, match="disk full"):
        reactor.run_for(ms=100)
    reactor.run_for(ms=90)
    assert len(turns) == 10


def test_calls_that_a_slow_machine_missed_are_skipped():
    clock = Clock()
    turns: list[float] = []
    RepeatingCall(clock, 1000, lambda: turns.append(clock.seconds())).start()
    clock.advance(3.5)
    clock.advance(0.5)
    clock.advance(1.0)
    assert turns == [3.5, 4.0, 5.0]


def test_a_start_while_running_and_an_interval_of_nothing_are_refused(reactor):
    repeating = RepeatingCall(reactor, 10, print)
    repeating.start()
    with pytest.raises(RuntimeError):
        repeating.start()
    with pytest.raises(ValueError, match="interval_ms"):
        RepeatingCall(reactor, 0, print)
