"""Waits by looking again for a moment before it sleeps, as long as that pays.

A process that sleeps is woken by an interrupt of its processor, which costs it and whoever wakes it more than a small
request does, and it wakes with cold caches. It pays to look while requests and answers come and go without a pause, as
with a client that sends one record at a time. Each look lets go first whoever else has work.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Events = TypeVar("Events", bound=Sequence[Any])

__all__ = ["SpinningWait"]

LOOK_SECONDS: Final = 250e-6
"""How long it looks before it sleeps: longer than a client takes from an answer to a request, or a broker back. A wait
that took longer, as after a look in vain, is no reason to look the next time."""

PROCESSORS_MIN: Final = 2
"""With fewer of them nobody could do anything while it looks."""


class SpinningWait:
    """Of one thread at a time; `short_waits_min`: after so many waits in a row that were short it looks first."""

    __slots__ = ("_can_spin", "_seconds", "_short_waits", "_short_waits_min")

    def __init__(self, seconds: Callable[[], float], *, short_waits_min: int) -> None:
        self._seconds = seconds
        self._can_spin = len(os.sched_getaffinity(0)) >= PROCESSORS_MIN
        self._short_waits_min = short_waits_min
        self._short_waits = 0

    def wait(self, poll: Callable[..., Events], timeout: float, *arguments: object) -> Events:
        """What `poll(timeout, *arguments)` answers; `timeout` is in seconds, a negative one means for ever."""
        if not timeout or not self._can_spin:
            return poll(timeout, *arguments)
        began = now = self._seconds()
        if self._short_waits >= self._short_waits_min:
            look_until = now + (min(LOOK_SECONDS, timeout) if timeout > 0 else LOOK_SECONDS)
            while now < look_until:
                events = poll(0, *arguments)
                if events:
                    return events
                os.sched_yield()
                now = self._seconds()
        events = poll(timeout, *arguments)
        short = events and self._seconds() - began < LOOK_SECONDS
        self._short_waits = self._short_waits + 1 if short else 0
        return events
