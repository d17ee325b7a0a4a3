"""A broker's own wall clock over the reactor's time: the source of timestamps. Mirrors utils.Time.

Timers run on the reactor and ignore this clock, as real timers run on a monotonic clock: a jump of the wall clock
changes LogAppendTime, timestamp checks and producer expiry, never a time-out.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from sim_runtime.virtual_reactor import VirtualReactor

if TYPE_CHECKING:
    from collections.abc import Callable

    from sim_runtime.interfaces import IReactor


def microseconds_of(reactor: IReactor) -> Callable[[], int]:
    """Return a function that reads a reactor's time in microseconds since the epoch."""
    if isinstance(reactor, VirtualReactor):
        return partial(attrgetter("now_us"), reactor)
    seconds = reactor.seconds

    def now_us() -> int:
        return round(seconds() * 1e6)

    return now_us


class BrokerClock:
    """`offset_ms` ahead of the reactor, and gaining `drift_ppm` millionths of the time since it was set."""

    __slots__ = ("_base_ms", "_drift", "_seconds", "_set_at_s")

    def __init__(self, reactor: IReactor, *, offset_ms: float = 0.0, drift_ppm: float = 0.0) -> None:
        self._seconds = reactor.seconds
        self._set_at_s = reactor.seconds()
        self._base_ms = offset_ms
        self._drift = drift_ppm / 1e6

    @property
    def offset_ms(self) -> float:
        """The milliseconds by which the clock is ahead of the reactor's time now."""
        if not self._drift:
            return self._base_ms
        return self._base_ms + (self._seconds() - self._set_at_s) * 1000 * self._drift

    def now_ms(self) -> int:
        """Return milliseconds since the epoch by this broker's clock."""
        # Read per batch, and few clocks drift.
        return int(self._seconds() * 1000 + (self.offset_ms if self._drift else self._base_ms))

    def jump(self, ms: float) -> None:
        """Move the clock ahead by `ms`, back when negative."""
        self._base_ms += ms

    def set_drift(self, ppm: float) -> None:
        """Gain `ppm` microseconds per second of reactor time from now on."""
        self._base_ms = self.offset_ms
        self._set_at_s = self._seconds()
        self._drift = ppm / 1e6
