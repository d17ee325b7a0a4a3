from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTCP, IReactorTime
from zope.interface.verify import verifyObject

from sim_runtime.deadlines import DeadlineExceeded, sleep
from sim_runtime.interfaces import IReactor
from sim_runtime.virtual_reactor import CallLimitExceeded, VirtualReactor


@pytest.fixture
def reactor() -> VirtualReactor:
    return VirtualReactor()


def test_it_provides_twisteds_interfaces(reactor):
    for interface in (IReactorTime, IReactorTCP, IReactor):
        assert verifyObject(interface, reactor)
    assert verifyObject(IDelayedCall, reactor.callLater(1, print))


def test_time_starts_at_2026_and_stands_still_by_itself(reactor):
    assert reactor.seconds() == 1_767_225_600.0
    assert VirtualReactor(start_seconds=5).seconds() == 5.0


def test_each_call_sees_its_own_due_time(reactor):
    begin = reactor.now_us
    seen: list[int] = []
    for delay in (10, 1, 5):
        reactor.callLater(delay, lambda: seen.append(reactor.now_us - begin))
    reactor.run_for(ms=20_000)
    assert seen == [1_000_000, 5_000_000, 10_000_000]
    assert reactor.now_us - begin == 20_000_000


def test_a_call_that_reschedules_itself_keeps_its_rhythm_within_one_run(reactor):
    seen: list[float] = []

    def tick() -> None:
        seen.append(round(reactor.seconds() - 1_767_225_600, 6))
        reactor.callLater(1, tick)

    reactor.callLater(1, tick)
    reactor.run_for(ms=4_000)
    assert seen == [1.0, 2.0, 3.0, 4.0]


def test_milliseconds_add_up_exactly(reactor):
    fired: list[int] = []
    reactor.callLater(0.005, fired.append, 5)
    reactor.run_for(ms=4)
    assert fired == []
    reactor.run_for(ms=1)
    assert fired == [5]
    assert reactor.now_us == 1_767_225_600_005_000


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=60), st.integers(1, 20_000))
def test_calls_run_in_order_of_due_time_then_sequence(delays_us, until_us):
    reactor = VirtualReactor()
    begin = reactor.now_us
    fired: list[tuple[int, int]] = []
    for index, delay_us in enumerate(delays_us):
        reactor.callLater(delay_us / 1e6, lambda index=index: fired.append((reactor.now_us - begin, index)))
    reactor.run_for(ms=until_us / 1000)
    expected = sorted((delay_us, index) for index, delay_us in enumerate(delays_us) if delay_us <= until_us)
    assert fired == expected


@given(st.data())
def test_cancel_reset_and_delay_agree_with_a_sorted_list(data):
    reactor = VirtualReactor()
    begin = reactor.now_us
    fired: list[int] = []
    calls: dict[int, IDelayedCall] = {}
    model: dict[int, tuple[int, int]] = {}  # number -> due, place among equals
    steps = data.draw(st.lists(st.sampled_from(["call", "cancel", "reset", "delay", "run"]), max_size=40))
    for number, step in enumerate(steps):
        places = number
        amount_us = data.draw(st.integers(1, 50))
        if step == "call":
            calls[number] = reactor.callLater(amount_us / 1e6, fired.append, number)
            model[number] = (reactor.now_us - begin + amount_us, places)
        elif step == "run":
            until = reactor.now_us - begin + amount_us
            due = [chosen for chosen, (at, _) in sorted(model.items(), key=lambda item: item[1]) if at <= until]
            reactor.run_for(ms=amount_us / 1000)
            assert fired == due
            fired.clear()
            for chosen in due:
                del model[chosen]
                assert not calls[chosen].active()
        elif model:
            chosen = data.draw(st.sampled_from(list(model)))
            if step == "cancel":
                calls[chosen].cancel()
                del model[chosen]
            elif step == "reset":
                calls[chosen].reset(amount_us / 1e6)
                model[chosen] = (reactor.now_us - begin + amount_us, places)
            else:
                calls[chosen].delay((amount_us - 25) / 1e6)
                at = max(reactor.now_us - begin, model[chosen][0] + amount_us - 25)
                model[chosen] = (at, places)
    assert [call.getTime() for call in reactor.getDelayedCalls()] == [
        (begin + at) / 1e6 for at, _ in sorted(model.values())
    ]


def test_a_tiny_delay_is_at_least_a_microsecond(reactor):
    before = reactor.now_us
    call = reactor.callLater(1e-9, print)
    assert call.due_us == before + 1


@pytest.mark.parametrize("delay", [-0.001, float("nan"), float("inf")])
def test_a_delay_that_is_no_time_is_refused(reactor, delay):
    with pytest.raises((ValueError, OverflowError)):
        reactor.callLater(delay, print)


def test_run_until_returns_the_result_of_a_deferred(reactor):
    done: Deferred[str] = Deferred()
    reactor.callLater(2, done.callback, "ready")
    assert reactor.run_until(done) == "ready"
    assert reactor.seconds() == 1_767_225_602.0


def test_run_until_returns_at_once_with_an_existing_result(reactor):
    assert reactor.run_until(succeed(7)) == 7
    with pytest.raises(KeyError):
        reactor.run_until(fail(KeyError("missing")))
    assert reactor.seconds() == 1_767_225_600.0


def test_run_until_runs_a_coroutine(reactor):
    async def body() -> float:
        await sleep(reactor, 1500)
        return reactor.seconds()

    assert reactor.run_until(body()) == 1_767_225_601.5


def test_run_until_evaluates_a_function_after_every_call(reactor):
    seen: list[int] = []
    for number in range(10):
        reactor.callLater(number, seen.append, number)
    assert reactor.run_until(lambda: len(seen) == 3) is True
    assert seen == [0, 1, 2]


def test_run_until_names_the_missing_event(reactor):
    reactor.callLater(3600, print)
    with pytest.raises(DeadlineExceeded) as caught:
        reactor.run_until(Deferred(), deadline_ms=250, awaited="metadata of orders")
    assert str(caught.value) == "waited 250 ms for metadata of orders; run_until(deadline_ms=...) allows longer"
    assert reactor.now_us == 1_767_225_600_250_000

    def never_true() -> bool:
        return False

    with pytest.raises(DeadlineExceeded, match="never_true"):
        reactor.run_until(never_true, deadline_ms=5)


def test_an_error_in_a_call_is_kept_and_raised_and_the_next_run_goes_on(reactor):
    fired: list[str] = []

    def broken() -> None:
        raise LookupError("no such partition")

    reactor.callLater(1, broken)
    reactor.callLater(1, fired.append, "after")
    with pytest.raises(LookupError) as caught:
        reactor.run_for(ms=5_000)
    assert caught.value.__notes__ == ["in a call of the virtual reactor at 1767225601.000000"]
    assert reactor.errors == [caught.value]
    assert fired == []
    reactor.run_for(ms=1)
    assert fired == ["after"]


def test_step_makes_one_call(reactor):
    fired: list[int] = []
    reactor.callLater(1, fired.append, 1)
    reactor.callLater(2, fired.append, 2)
    assert (reactor.step(), fired) == (True, [1])
    assert (reactor.step(), fired) == (True, [1, 2])
    assert reactor.step() is False
    assert reactor.seconds() == 1_767_225_602.0


def test_run_until_idle_ends_when_nothing_is_scheduled_or_at_its_limit(reactor):
    reactor.callLater(1, reactor.callLater, 1, print)
    reactor.run_until_idle()
    assert reactor.getDelayedCalls() == []

    def again() -> None:
        reactor.callLater(1, again)

    again()
    with pytest.raises(CallLimitExceeded, match="run_until_idle"):
        reactor.run_until_idle(limit=10)


def test_a_run_that_does_not_leave_an_instant_is_stopped(reactor):
    reactor.calls_per_instant_limit = 1000

    def spin() -> None:
        reactor.callLater(0, spin)

    spin()
    with pytest.raises(CallLimitExceeded, match=r"calls_per_instant_limit; the last was .*spin"):
        reactor.run_for(ms=1)


def test_run_methods_do_not_nest(reactor):
    reactor.callLater(0, reactor.run_for, ms=1)
    with pytest.raises(RuntimeError, match="runs already"):
        reactor.run_for(ms=1)


def test_tcp_without_a_network_is_refused_with_a_hint(reactor):
    with pytest.raises(RuntimeError, match="VirtualNetwork"):
        reactor.connectTCP("broker", 9092, None)


def test_cancelled_calls_do_not_pile_up(reactor):
    for _ in range(20_000):
        reactor.callLater(30, print).cancel()
    assert len(reactor._heap) < 2_000


def test_calls_that_are_always_reset_do_not_pile_up(reactor):
    call = reactor.callLater(30, print)
    for _ in range(10_000):
        call.reset(30)
    assert len(reactor._heap) == 1
    for step in range(10_000):
        call.reset(29 - step / 1000)
    assert len(reactor._heap) < 2_000


def test_an_idle_hour_of_periodic_timers_is_cheap(reactor):
    def tick(interval: float) -> None:
        reactor.callLater(interval, tick, interval)

    for interval in (0.1, 0.5, 1.0, 5.0):
        tick(interval)
    begin = time.process_time()
    reactor.run_for(ms=3_600_000)
    assert time.process_time() - begin < 1.0
    assert reactor.calls_made > 47_000
