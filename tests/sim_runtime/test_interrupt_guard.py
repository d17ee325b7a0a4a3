from __future__ import annotations

import signal
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from sim_runtime.interrupt_guard import InterruptGuard
from tests.default_handlers import HANDLED, default_handlers

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def no_handlers_but_the_default() -> Iterator[None]:
    """As a program has them: the time limit of a test has a handler of its own."""
    with default_handlers():
        yield


def test_an_interruption_is_put_off_until_it_is_given_back() -> None:
    guard = InterruptGuard()
    assert guard.take()
    done = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - it is not the first statement that raises
        try:
            signal.raise_signal(signal.SIGINT)
            done.append("what must not be broken off")
        finally:
            guard.give_back()
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interruption_is_raised_once() -> None:
    guard = InterruptGuard()
    assert guard.take()
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        guard.give_back()
    assert guard.take()
    guard.give_back()


def test_an_interruption_comes_at_once_while_it_is_let_through() -> None:
    guard = InterruptGuard()
    assert guard.take()
    try:
        guard.let_through(True)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        guard.let_through(False)
    finally:
        guard.give_back()


@pytest.mark.parametrize("number", HANDLED)
def test_a_program_with_handlers_of_its_own_is_not_guarded(number: signal.Signals) -> None:
    before = signal.signal(number, lambda *_: None)
    try:
        assert not InterruptGuard().take()
    finally:
        signal.signal(number, before)
    guard = InterruptGuard()
    assert guard.take()
    guard.give_back()


def test_a_handler_of_ctrl_c_of_the_programs_own_stays() -> None:
    def mine(*_: object) -> None:
        raise AssertionError

    signal.signal(signal.SIGINT, mine)
    assert not InterruptGuard().take()
    assert signal.getsignal(signal.SIGINT) is mine


def test_another_thread_needs_no_guard_and_changes_nothing() -> None:
    guard = InterruptGuard()
    assert guard.take()
    guard.let_through(True)
    told: list[bool] = []

    def elsewhere() -> None:
        told.append(guard.take())
        guard.let_through(False)
        guard.give_back()

    thread = Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert told == [True]
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        guard.give_back()
