"""Rates over sliding windows and a token bucket, with bounds. Mirror Rate, SimpleRate, SampledStat, TokenBucket.

All times are milliseconds, rates are per second. `record` counts; `throttle_ms` returns the time until the rate is
within the bound again, 0 when it is now.
"""

from __future__ import annotations

import math
from typing import Final

__all__ = ["UNBOUNDED", "Rate", "SimpleRate", "TokenBucket"]

UNBOUNDED: Final = math.inf
LONG_MAX: Final = 2**63 - 1


class _Sample:
    __slots__ = ("last_event_ms", "start_ms", "value")

    def __init__(self, now_ms: int) -> None:
        self.reset(now_ms)

    def reset(self, now_ms: int) -> None:
        self.value = 0.0
        self.start_ms = now_ms
        self.last_event_ms = now_ms


class Rate:
    """Events per second over `samples` windows of `window_ms`; `bound` is the quota."""

    __slots__ = ("_current", "_samples", "_samples_max", "bound", "window_ms")

    def __init__(self, *, bound: float, samples: int, window_ms: int) -> None:
        self.bound = bound
        self.window_ms = window_ms
        self._samples_max = samples
        self._samples: list[_Sample] = []
        self._current = 0

    def record(self, value: float, now_ms: int) -> None:
        """Count a value; a negative one reverts an earlier count."""
        if not self._samples:
            self._samples.append(_Sample(now_ms))
        sample = self._samples[self._current]
        if now_ms - sample.start_ms >= self.window_ms:
            sample = self._advance(now_ms)
        sample.value += value
        sample.last_event_ms = now_ms

    def measure(self, now_ms: int) -> float:
        """The rate now."""
        self._purge(now_ms)
        return sum(sample.value for sample in self._samples) / (self._window_size_ms(now_ms) / 1000)

    def throttle_ms(self, now_ms: int) -> int:
        """(rate - bound) / bound * window, as QuotaUtils.throttleTime."""
        if self.bound == UNBOUNDED:
            return 0
        rate = self.measure(now_ms)
        if not rate > self.bound:
            return 0
        if self.bound == 0:
            return LONG_MAX
        return math.floor((rate - self.bound) / self.bound * self._window_size_ms(now_ms) + 0.5)

    def _advance(self, now_ms: int) -> _Sample:
        # One sample more than windows: the oldest may overlap the beginning of the measured period.
        self._current = (self._current + 1) % (self._samples_max + 1)
        if self._current < len(self._samples):
            self._samples[self._current].reset(now_ms)
        else:
            self._samples.append(_Sample(now_ms))
        return self._samples[self._current]

    def _purge(self, now_ms: int) -> None:
        expire_age_ms = self._samples_max * self.window_ms
        for sample in self._samples:
            if now_ms - sample.last_event_ms >= expire_age_ms:
                sample.reset(now_ms)

    def _window_size_ms(self, now_ms: int) -> int:
        elapsed_ms = now_ms - min((sample.start_ms for sample in self._samples), default=now_ms)
        # A rate that has just begun is measured over all windows but one: else its first event would break any quota.
        missing = self._samples_max - 1 - elapsed_ms // self.window_ms
        return max(elapsed_ms + max(0, missing) * self.window_ms, 1)


class SimpleRate(Rate):
    """The same over the time that has passed since the oldest sample began, a whole window at least."""

    __slots__ = ()

    def _window_size_ms(self, now_ms: int) -> int:
        elapsed_ms = now_ms - min((sample.start_ms for sample in self._samples), default=now_ms)
        return max(elapsed_ms, self.window_ms)


class TokenBucket:
    """`bound` tokens per second up to `samples` windows of them; below zero tokens a client waits (KIP-599).

    Without a bound the bucket has all that a long can count, and is full again at once: Kafka has no other bound.
    """

    __slots__ = ("_last_update_ms", "_tokens", "_windows_s", "bound")

    def __init__(self, *, bound: float, samples: int, window_ms: int) -> None:
        self.bound = bound
        self._windows_s = samples * window_ms / 1000
        self._tokens = 0.0
        self._last_update_ms: int | None = None

    def record(self, value: float, now_ms: int) -> None:
        """Take tokens; the bucket may go below none."""
        self._tokens = min(self._burst, self.measure(now_ms) - value)

    def measure(self, now_ms: int) -> float:
        """The tokens that are left now."""
        if self._last_update_ms is None:
            # Kafka's bucket counts from 1970 on: it begins full.
            self._tokens = self._burst
        else:
            self._tokens = min(self._burst, self._tokens + self._rate * (now_ms - self._last_update_ms) / 1000)
        self._last_update_ms = now_ms
        return self._tokens

    def throttle_ms(self, now_ms: int) -> int:
        """Return the time until no token is missing."""
        tokens = self.measure(now_ms)
        return math.floor(-tokens / self._rate * 1000 + 0.5) if tokens < 0 else 0

    @property
    def _rate(self) -> float:
        return min(self.bound, LONG_MAX)

    @property
    def _burst(self) -> float:
        return self._windows_s * self._rate
