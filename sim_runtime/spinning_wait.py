"""Adaptive spinning: polls for a moment before it blocks, while that saves time.

Waking a blocked process takes an interrupt of its processor, which costs both sides more than a small request, and its
caches are cold afterwards. Spinning helps while requests and responses follow each other without a pause, as for a
client that sends one record at a time. Each poll yields the processor to other threads.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Events = TypeVar("Events", bound=Sequence[Any])

__all__ = ["SpinningWait"]

SPIN_SECONDS: Final = 250e-6
"""The time of a spin: longer than a client takes from a response to its next request, or a broker to respond. After an
unsuccessful spin the next wait blocks at once."""

PROCESSORS_MIN: Final = 2
"""With fewer processors no other thread could run during a spin."""


class SpinningWait:
    """The waits of one thread; it spins after `short_waits_min` short waits in a row."""

    __slots__ = ("_can_spin", "_seconds", "_short_waits", "_short_waits_min")

    def __init__(self, seconds: Callable[[], float], *, short_waits_min: int) -> None:
        self._seconds = seconds
        self._can_spin = len(os.sched_getaffinity(0)) >= PROCESSORS_MIN
        self._short_waits_min = short_waits_min
        self._short_waits = 0

    def wait(self, poll: Callable[..., Events], timeout: float, *arguments: object) -> Events:
        """Return the result of `poll(timeout, *arguments)`; `timeout` is in seconds, a negative one is no limit."""
        if not timeout or not self._can_spin:
            return poll(timeout, *arguments)
        began = now = self._seconds()
        if self._short_waits >= self._short_waits_min:
            spin_until = now + (min(SPIN_SECONDS, timeout) if timeout > 0 else SPIN_SECONDS)
            while now < spin_until:
                events = poll(0, *arguments)
                if events:
                    return events
                os.sched_yield()
                now = self._seconds()
        events = poll(timeout, *arguments)
        short = events and self._seconds() - began < SPIN_SECONDS
        self._short_waits = self._short_waits + 1 if short else 0
        return events
