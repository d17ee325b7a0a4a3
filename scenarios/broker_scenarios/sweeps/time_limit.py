"""A limit of real time for a virtual run: a loop that never ends is inside a single step, which no step limit stops."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from twisted.python.runtime import seconds

from broker_scenarios.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

__all__ = ["TimeLimitExceeded", "time_limit"]

_AGAIN_S: Final = 1.0
_LEFT_MIN_S: Final = 1e-3


class TimeLimitExceeded(ScenarioError):
    """A run took longer than its limit of real time, and was stopped."""


class _Expired(BaseException):
    """Interrupts the run. It is no Exception, so that no handler for errors catches it."""


@contextmanager
def time_limit(limit_s: float | None) -> Iterator[None]:
    """Stop the body after `limit_s` seconds of real time; None is no limit. It works in the main thread alone.

    The interruption is an exception from a signal handler: the main thread runs it between two instructions of Python,
    also inside an endless loop. The task of a Spark worker and of a process of a pool is in the main thread too. The
    callbacks of a Deferred catch every exception, so the signal repeats until the body ends.

    Raises:
        TimeLimitExceeded: the body was interrupted.
    """
    if limit_s is None:
        yield
        return
    expired = False

    def expire(_signal: int, _frame: FrameType | None) -> None:
        nonlocal expired
        expired = True
        raise _Expired

    before = signal.signal(signal.SIGALRM, expire)
    started = seconds()
    left_s, interval_s = signal.setitimer(signal.ITIMER_REAL, limit_s, _AGAIN_S)
    try:
        yield
    except (Exception, _Expired):
        if not expired:
            raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left_s:
            # The timer of the caller goes on: pytest-timeout has one.
            signal.setitimer(signal.ITIMER_REAL, max(left_s - (seconds() - started), _LEFT_MIN_S), interval_s)
    if expired:
        raise TimeLimitExceeded(f"it did not end within {limit_s:g} s (--seed-limit)")
