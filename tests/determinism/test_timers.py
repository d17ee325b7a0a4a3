"""The conformance kit for both reactors, first part: time."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet import error

from sim_runtime.deadlines import sleep


def test_timers_fire_in_order_of_due_time_then_of_scheduling(bench):
    fired: list[str] = []

    async def body() -> None:
        bench.client.callLater(0.02, fired.append, "third")
        bench.client.callLater(0.01, fired.append, "first")
        bench.client.callLater(0.01, fired.append, "second")
        bench.client.callLater(0, fired.append, "at once")
        await sleep(bench.client, 30)

    bench.run(body)
    assert fired == ["at once", "first", "second", "third"]


def test_a_call_is_never_made_before_its_time(bench):
    async def body() -> float:
        begin = bench.client.seconds()
        await sleep(bench.client, 15)
        return bench.client.seconds() - begin

    assert bench.run(body) > 0.0149


def test_a_call_scheduled_at_once_runs_after_its_caller(bench):
    order: list[str] = []

    async def body() -> None:
        bench.client.callLater(0, order.append, "called")
        order.append("caller")
        await sleep(bench.client, 1)

    bench.run(body)
    assert order == ["caller", "called"]


def test_keyword_arguments_reach_the_call(bench):
    got: list[Any] = []

    async def body() -> None:
        bench.client.callLater(0, lambda *args, **kwargs: got.append((args, kwargs)), 1, key="value")
        await sleep(bench.client, 1)

    bench.run(body)
    assert got == [((1,), {"key": "value"})]


def test_a_cancelled_call_is_not_made_and_not_cancelled_twice(bench):
    async def body() -> None:
        call = bench.client.callLater(0.005, pytest.fail, "a cancelled call was made")
        assert call.active()
        call.cancel()
        assert not call.active()
        for touch in (call.cancel, lambda: call.reset(1), lambda: call.delay(1)):
            with pytest.raises(error.AlreadyCancelled):
                touch()
        await sleep(bench.client, 10)

    bench.run(body)


def test_a_call_that_was_made_cannot_be_cancelled_or_moved(bench):
    async def body() -> None:
        call = bench.client.callLater(0, lambda: None)
        await sleep(bench.client, 2)
        assert not call.active()
        for touch in (call.cancel, lambda: call.reset(1), lambda: call.delay(1)):
            with pytest.raises(error.AlreadyCalled):
                touch()

    bench.run(body)


def test_a_call_sees_itself_inactive(bench):
    seen: list[bool] = []

    async def body() -> None:
        call = bench.client.callLater(0.001, lambda: seen.append(call.active()))
        await sleep(bench.client, 5)

    bench.run(body)
    assert seen == [False]


def test_reset_and_delay_move_a_call_both_ways(bench):
    fired: list[str] = []

    async def body() -> None:
        later = bench.client.callLater(0.005, fired.append, "reset to later")
        sooner = bench.client.callLater(10, fired.append, "reset to sooner")
        delayed = bench.client.callLater(0.005, fired.append, "delayed")
        hastened = bench.client.callLater(10, fired.append, "hastened")
        later.reset(0.030)
        sooner.reset(0.010)
        delayed.delay(0.035)
        hastened.delay(-9.980)
        await sleep(bench.client, 60)

    bench.run(body)
    assert fired == ["reset to sooner", "hastened", "reset to later", "delayed"]


def test_pending_calls_are_listed_until_they_are_made_or_cancelled(bench):
    async def body() -> None:
        before = list(bench.client.getDelayedCalls())
        kept = bench.client.callLater(60, lambda: None)
        gone = bench.client.callLater(60, lambda: None)
        gone.cancel()
        assert [call for call in bench.client.getDelayedCalls() if call not in before] == [kept]
        kept.cancel()

    bench.run(body)


def test_a_negative_delay_is_refused(bench):
    async def body() -> None:
        with pytest.raises((ValueError, AssertionError)):
            bench.client.callLater(-1, lambda: None)

    bench.run(body)
