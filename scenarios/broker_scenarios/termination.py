"""Interruptions: SIGTERM ends a command as Ctrl-C does, with files closed, folders removed and processes ended."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Terminated", "interruption_behind", "interruptions_deferred", "signals_handled", "termination_raised"]


class Terminated(KeyboardInterrupt):
    """SIGTERM has arrived. It is a KeyboardInterrupt, so that all code that ends in good order at Ctrl-C does."""


@contextmanager
def termination_raised() -> Iterator[None]:
    """Raise Terminated at SIGTERM in the main thread, where a process ends at once by default.

    A command that handles the signal itself replaces this handler. In other threads nothing changes.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is _raise:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def interruptions_deferred() -> Iterator[None]:
    """Have SIGINT and SIGTERM wait for the end of the block, which an exception would leave half done.

    A handler that the block installs is replaced by the one from before. In other threads nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    with signals_handled(arrived.append):
        yield
    if arrived:
        signal.raise_signal(arrived[0])


@contextmanager
def signals_handled(handle: Callable[[int], object]) -> Iterator[None]:
    """Call `handle` with each SIGINT and SIGTERM that arrives within the block; for the main thread."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda received, _: handle(received)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def interruption_behind(error: BaseException) -> KeyboardInterrupt | None:
    """Return the interruption during whose handling an error was raised, None for an error of another cause."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__context__
    return cause


def _raise(*_: object) -> NoReturn:
    raise Terminated
