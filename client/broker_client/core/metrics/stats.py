"""Statistics over a window of samples, and totals. Mirrors SampledStat, Avg, Max, Min, Value, Rate ...

A sensor keeps metrics.num.samples samples of metrics.sample.window.ms each, and one more that overlaps the window's
beginning (KAFKA-16103). In Kafka each statistic of a sensor has samples of its own, which take in the same values; here
they share one window, and a value is recorded once. A sample that took in nothing for the whole window is cleared when
a statistic is read. A rate is what the samples hold by the time since the oldest began, which counts as all windows
but one at least, so that a producer that has just begun does not show a spike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "HOURS",
    "NANOSECONDS",
    "SECONDS",
    "WAITING_MAX",
    "Avg",
    "CumulativeCount",
    "CumulativeSum",
    "Max",
    "MetricConfig",
    "Min",
    "Rate",
    "SampleWindow",
    "Stat",
    "Value",
    "WindowedCount",
    "WindowedSum",
]

SECONDS: Final = 1e-3
"""A rate per second: what a millisecond is in the rate's unit."""
HOURS: Final = 1 / 3_600_000
"""A rate per hour."""
NANOSECONDS: Final = 1e6
"""A rate of nanoseconds per nanosecond: a ratio."""
WAITING_MAX: Final = 64
"""How many values wait at most to be counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricConfig:
    """metrics.num.samples and metrics.sample.window.ms."""

    samples: int = 2
    window_ms: int = 30_000


class Stat(Protocol):
    """A readable value; times are in milliseconds."""

    def measure(self, now_ms: int) -> float:
        """The present value."""
        ...


class Sample:
    """The recordings of one part of the window."""

    __slots__ = ("events", "largest", "last_event_ms", "smallest", "start_ms", "sum")

    def __init__(self, now_ms: int) -> None:
        self.reset(now_ms)

    def reset(self, now_ms: int) -> None:
        """Hold nothing, from now on."""
        self.events = 0
        self.sum = 0.0
        self.largest = -math.inf
        self.smallest = math.inf
        self.start_ms = self.last_event_ms = now_ms


class SampleWindow:
    """The samples in a ring, and the totals of everything ever.

    Recorded values are kept until a read or until there are many: they are counted in bulk, which takes a
    fraction of the time. Callers hold the lock of the statistics, except to append to `waiting`.
    """

    __slots__ = (
        "_current",
        "_events",
        "_keeps",
        "_sample",
        "_samples",
        "_sum",
        "_window_ms",
        "config",
        "latest",
        "waiting",
    )

    def __init__(self, config: MetricConfig) -> None:
        self.config = config
        self._events = 0
        self._sum = 0.0
        self._window_ms = config.window_ms
        self._keeps = config.samples + 1
        self._samples: list[Sample] = []
        self._sample: Sample | None = None
        self._current = -1
        self.latest = math.nan
        self.waiting: list[tuple[float, int]] = []

    def record(self, value: float, now_ms: int) -> None:
        """Take a value in."""
        self.waiting.append((value, now_ms))
        if len(self.waiting) >= WAITING_MAX:
            self.take_in()

    def take_in(self) -> None:
        """Count what was recorded."""
        waiting = self.waiting
        recorded = waiting[:]
        del waiting[: len(recorded)]  # another thread may have added one
        if not recorded:
            return
        values, times = zip(*recorded, strict=True)
        sample = self._sample
        if sample is not None and max(times) - sample.start_ms < self._window_ms:
            self._count(sample, values, times[-1])
            return
        for value, now_ms in recorded:
            sample = self._sample
            if sample is None or now_ms - sample.start_ms >= self._window_ms:
                sample = self._advance(now_ms)
            self._count(sample, (value,), now_ms)

    def _count(self, sample: Sample, values: Sequence[float], last_ms: int) -> None:
        count, total = len(values), sum(values)
        sample.events += count
        sample.sum += total
        sample.largest = max(sample.largest, *values)
        sample.smallest = min(sample.smallest, *values)
        self.latest = values[-1]
        sample.last_event_ms = last_ms
        self._events += count
        self._sum += total

    @property
    def events(self) -> int:
        """How many values there were ever."""
        self.take_in()
        return self._events

    @property
    def sum(self) -> float:
        """The sum of all values ever."""
        self.take_in()
        return self._sum

    def samples(self, now_ms: int) -> list[Sample]:
        """All of them, those cleared that took in nothing for the whole window."""
        self.take_in()
        expire_ms = self.config.samples * self._window_ms
        for sample in self._samples:
            if now_ms - sample.last_event_ms >= expire_ms:
                sample.reset(now_ms)
        return self._samples

    def oldest_start_ms(self, now_ms: int) -> int:
        """When the oldest sample began; the first begins at the first read."""
        self.take_in()
        if self._sample is None:
            self._advance(now_ms)
        return min(sample.start_ms for sample in self._samples)

    def _advance(self, now_ms: int) -> Sample:
        self._current = (self._current + 1) % self._keeps
        if self._current < len(self._samples):
            sample = self._samples[self._current]
            sample.reset(now_ms)
        else:
            sample = Sample(now_ms)
            self._samples.append(sample)
        self._sample = sample
        return sample


class _OfWindow:
    __slots__ = ("window",)

    def __init__(self, window: SampleWindow) -> None:
        self.window = window


class Avg(_OfWindow):
    """The mean of the window's values."""

    __slots__ = ()

    def measure(self, now_ms: int) -> float:
        """The mean, NaN of nothing."""
        samples = self.window.samples(now_ms)
        count = sum(sample.events for sample in samples)
        return sum(sample.sum for sample in samples) / count if count else math.nan


class Max(_OfWindow):
    """The largest of the window's values."""

    __slots__ = ()

    def measure(self, now_ms: int) -> float:
        """The largest, NaN of nothing."""
        samples = self.window.samples(now_ms)
        if not any(sample.events for sample in samples):
            return math.nan
        return float(max(sample.largest for sample in samples))


class Min(_OfWindow):
    """The smallest of the window's values."""

    __slots__ = ()

    def measure(self, now_ms: int) -> float:
        """The smallest, NaN of nothing."""
        samples = self.window.samples(now_ms)
        if not any(sample.events for sample in samples):
            return math.nan
        return float(min(sample.smallest for sample in samples))


class Value(_OfWindow):
    """The value that was recorded last, however long ago."""

    __slots__ = ()

    def measure(self, now_ms: int) -> float:  # noqa: ARG002 - see Stat
        """The value, NaN of nothing."""
        self.window.take_in()
        return float(self.window.latest)


class WindowedSum(_OfWindow):
    """The sum of the window's values."""

    __slots__ = ()

    def measure(self, now_ms: int) -> float:
        """The sum."""
        return sum(sample.sum for sample in self.window.samples(now_ms))


class WindowedCount(_OfWindow):
    """How many values the window has."""

    __slots__ = ()

    def measure(self, now_ms: int) -> float:
        """The number."""
        return float(sum(sample.events for sample in self.window.samples(now_ms)))


class Rate:
    """A sum or a count of the window by the time that it covers."""

    __slots__ = ("_stat", "_unit")

    def __init__(self, stat: WindowedSum | WindowedCount, unit: float = SECONDS) -> None:
        self._stat = stat
        self._unit = unit

    def measure(self, now_ms: int) -> float:
        """How much of it in a unit of time."""
        return self._stat.measure(now_ms) / (self._covered_ms(now_ms) * self._unit)

    def _covered_ms(self, now_ms: int) -> int:
        window = self._stat.window
        config = window.config
        elapsed_ms = now_ms - window.oldest_start_ms(now_ms)
        missing = config.samples - 1 - elapsed_ms // max(config.window_ms, 1)
        if missing > 0:
            elapsed_ms += missing * config.window_ms
        return max(elapsed_ms, 1)


class CumulativeSum(_OfWindow):
    """The sum of all values ever."""

    __slots__ = ()

    def measure(self, now_ms: int) -> float:  # noqa: ARG002 - see Stat
        """The sum."""
        return float(self.window.sum)


class CumulativeCount(CumulativeSum):
    """How many values there were ever."""

    __slots__ = ()

    def measure(self, now_ms: int) -> float:  # noqa: ARG002 - see Stat
        """The number."""
        return float(self.window.events)
