from __future__ import annotations

import signal

import pytest

from broker_scenarios.termination import (
    Terminated,
    interruption_behind,
    interruptions_deferred,
    signals_handled,
    termination_raised,
)


def test_sigterm_raises_within_the_block_and_has_its_default_after_it() -> None:
    with pytest.raises(Terminated), termination_raised():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_handler_that_is_there_is_kept() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with termination_raised():
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_deferred_interruptions_arrive_after_the_block_once() -> None:
    done: list[int] = []

    def run(number: signal.Signals) -> None:
        with termination_raised(), interruptions_deferred():
            signal.raise_signal(number)
            signal.raise_signal(number)
            done.append(number)

    with pytest.raises(KeyboardInterrupt):
        run(signal.SIGINT)
    with pytest.raises(Terminated):
        run(signal.SIGTERM)
    assert done == [signal.SIGINT, signal.SIGTERM]


def test_an_error_during_an_interruption_has_it_as_its_cause() -> None:
    def fail() -> None:
        try:
            raise Terminated
        finally:
            raise ValueError("the connection has ended")

    with pytest.raises(ValueError, match="the connection") as raised:
        fail()
    assert isinstance(interruption_behind(raised.value), Terminated)
    assert interruption_behind(ValueError()) is None


def test_signals_are_handled_within_the_block_alone() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    handled: list[int] = []
    with signals_handled(handled.append):
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
    assert handled == [signal.SIGTERM, signal.SIGINT]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
