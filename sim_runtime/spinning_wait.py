"""Adaptive spinning: polls for a moment before it blocks, while that saves time.

Waking a blocked process takes an interrupt of its processor, which costs both sides more than a small request, and its
caches are cold afterwards. Spinning helps where a request follows a response without a pause, as for a client that
sends one record at a time. Clients repeat themselves: two short waits and a long one are a transaction of a producer
that waits a millisecond for partitions to add. So the waits before the present one predict its length, as the branch
predictor of a processor predicts from the branches before. Each poll yields the processor to other threads.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Events = TypeVar("Events", bound=Sequence[Any])

__all__ = ["SpinningWait"]

SPIN_SECONDS: Final = 250e-6
"""The time of a spin, and the limit of a short wait: longer than a client takes from a response to its next request, or
a broker to respond."""

HISTORY_WAITS: Final = 4
"""The number of waits that predict the next one: which of them were short."""
_HISTORIES: Final = 1 << HISTORY_WAITS

PROCESSORS_MIN: Final = 2
"""With fewer processors no other thread could run during a spin."""


class SpinningWait:
    """The waits of one thread.

    It spins if the last `short_waits_min` waits that had the same history were short, and blocks at once after an
    unsuccessful spin until as many of them are short again.
    """

    __slots__ = ("_can_spin", "_history", "_seconds", "_short_waits", "_short_waits_min")

    def __init__(self, seconds: Callable[[], float], *, short_waits_min: int) -> None:
        self._seconds = seconds
        self._can_spin = len(os.sched_getaffinity(0)) >= PROCESSORS_MIN
        self._short_waits_min = short_waits_min
        self._history = 0
        """One bit for each of the last waits, 1 for a short one."""
        self._short_waits = [0] * _HISTORIES
        """The number of short waits in a row, by the history before them."""

    def wait(self, poll: Callable[..., Events], timeout: float, *arguments: object) -> Events:
        """Return the result of `poll(timeout, *arguments)`; `timeout` is in seconds, a negative one is no limit."""
        if not timeout or not self._can_spin:
            return poll(timeout, *arguments)
        began = now = self._seconds()
        history = self._history
        short_waits = self._short_waits[history]
        if short_waits >= self._short_waits_min:
            spin_until = now + (min(SPIN_SECONDS, timeout) if timeout > 0 else SPIN_SECONDS)
            while now < spin_until:
                events = poll(0, *arguments)
                if events:
                    self._history = (history << 1 | 1) % _HISTORIES
                    return events
                os.sched_yield()
                now = self._seconds()
        events = poll(timeout, *arguments)
        short = bool(events) and self._seconds() - began < SPIN_SECONDS
        self._short_waits[history] = short_waits + 1 if short else 0
        self._history = (history << 1 | short) % _HISTORIES
        return events
