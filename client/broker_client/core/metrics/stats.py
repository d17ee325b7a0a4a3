"""Statistics over a window of samples, and totals. Mirrors SampledStat, Avg, Max, WindowedSum, Rate, Meter.

A statistic keeps metrics.num.samples samples of metrics.sample.window.ms each, and one more that overlaps the window's
beginning (KAFKA-16103). A sample nothing was recorded in for the whole window is cleared when the statistic is read. A
rate is what the samples hold by the time since the oldest began, which counts as all windows but one at least, so that
a producer that has just begun does not show a spike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Protocol

__all__ = [
    "NANOSECONDS",
    "SECONDS",
    "Avg",
    "CumulativeSum",
    "Max",
    "MetricConfig",
    "Rate",
    "Stat",
    "WindowedCount",
    "WindowedSum",
]

SECONDS: Final = 1e-3
"""A rate per second: what a millisecond is in the rate's unit."""
NANOSECONDS: Final = 1e6
"""A rate of nanoseconds per nanosecond: a ratio."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricConfig:
    """metrics.num.samples and metrics.sample.window.ms."""

    samples: int = 2
    window_ms: int = 30_000


class Stat(Protocol):
    """What a sensor tells values, and what is read as a metric; times are in milliseconds."""

    def record(self, value: float, now_ms: int) -> None:
        """Take a value in."""
        ...

    def measure(self, now_ms: int) -> float:
        """What it is now."""
        ...


class _Sample:
    __slots__ = ("events", "last_event_ms", "start_ms", "value")

    def __init__(self, initial: float, now_ms: int) -> None:
        self.reset(initial, now_ms)

    def reset(self, initial: float, now_ms: int) -> None:
        self.value = initial
        self.events = 0
        self.start_ms = self.last_event_ms = now_ms


class SampledStat:
    """Samples in a ring; the subclass says how a value goes into one, and what all of them make."""

    __slots__ = ("_current", "_initial", "_keeps", "_samples", "_window_ms", "config")

    def __init__(self, config: MetricConfig, initial: float = 0.0) -> None:
        self.config = config
        self._initial = initial
        self._window_ms = config.window_ms
        self._keeps = config.samples + 1
        self._samples: list[_Sample] = []
        self._current = 0

    def _sample(self, now_ms: int) -> _Sample:
        """The sample that a value of now belongs to, with its event counted."""
        if self._samples:
            sample = self._samples[self._current]
            if now_ms - sample.start_ms >= self._window_ms:
                sample = self._advance(now_ms)
        else:
            sample = _Sample(self._initial, now_ms)
            self._samples.append(sample)
        sample.events += 1
        sample.last_event_ms = now_ms
        return sample

    def _advance(self, now_ms: int) -> _Sample:
        self._current = (self._current + 1) % self._keeps
        if self._current < len(self._samples):
            self._samples[self._current].reset(self._initial, now_ms)
        else:
            self._samples.append(_Sample(self._initial, now_ms))
        return self._samples[self._current]

    def oldest_start_ms(self, now_ms: int) -> int:
        """When the oldest sample began; the first begins now."""
        if not self._samples:
            self._samples.append(_Sample(self._initial, now_ms))
        return min(sample.start_ms for sample in self._samples)

    def purge_obsolete(self, now_ms: int) -> list[_Sample]:
        """Clear what saw nothing for the whole window; answers all samples."""
        expire_ms = self.config.samples * self._window_ms
        for sample in self._samples:
            if now_ms - sample.last_event_ms >= expire_ms:
                sample.reset(self._initial, now_ms)
        return self._samples


class Avg(SampledStat):
    """The mean of the window's values."""

    __slots__ = ()

    def record(self, value: float, now_ms: int) -> None:
        """Take a value in."""
        self._sample(now_ms).value += value

    def measure(self, now_ms: int) -> float:
        """The mean, NaN of nothing."""
        samples = self.purge_obsolete(now_ms)
        count = sum(sample.events for sample in samples)
        return sum(sample.value for sample in samples) / count if count else math.nan


class Max(SampledStat):
    """The largest of the window's values."""

    __slots__ = ()

    def __init__(self, config: MetricConfig) -> None:
        super().__init__(config, -math.inf)

    def record(self, value: float, now_ms: int) -> None:
        """Take a value in."""
        sample = self._sample(now_ms)
        if value > sample.value:  # noqa: PLR1730 - a call would cost more
            sample.value = value

    def measure(self, now_ms: int) -> float:
        """The largest, NaN of nothing."""
        samples = self.purge_obsolete(now_ms)
        if not any(sample.events for sample in samples):
            return math.nan
        return float(max(sample.value for sample in samples))


class WindowedSum(SampledStat):
    """The sum of the window's values: what a rate is made of."""

    __slots__ = ()

    def record(self, value: float, now_ms: int) -> None:
        """Take a value in."""
        self._sample(now_ms).value += value

    def total(self, value: float) -> float:
        """What the value adds to a total that goes with this rate."""
        return value

    def measure(self, now_ms: int) -> float:
        """The sum."""
        return sum(sample.value for sample in self.purge_obsolete(now_ms))


class WindowedCount(WindowedSum):
    """How many values there were."""

    __slots__ = ()

    def record(self, value: float, now_ms: int) -> None:  # noqa: ARG002 - see WindowedSum
        """Count a value."""
        self._sample(now_ms).value += 1.0

    def total(self, value: float) -> float:  # noqa: ARG002 - see WindowedSum
        """One, whatever the value."""
        return 1.0


class Rate:
    """A windowed sum by the time that it covers."""

    __slots__ = ("_unit", "stat")

    def __init__(self, stat: WindowedSum, unit: float = SECONDS) -> None:
        self.stat = stat
        self._unit = unit

    def record(self, value: float, now_ms: int) -> None:
        """Take a value in."""
        self.stat.record(value, now_ms)

    def measure(self, now_ms: int) -> float:
        """How much of it in a unit of time."""
        return self.stat.measure(now_ms) / (self.window_size_ms(now_ms) * self._unit)

    def window_size_ms(self, now_ms: int) -> int:
        """The time that the samples cover."""
        config = self.stat.config
        self.stat.purge_obsolete(now_ms)
        elapsed_ms = now_ms - self.stat.oldest_start_ms(now_ms)
        missing = config.samples - 1 - elapsed_ms // max(config.window_ms, 1)
        if missing > 0:
            elapsed_ms += missing * config.window_ms
        return max(elapsed_ms, 1)


class CumulativeSum:
    """The sum of all values ever."""

    __slots__ = ("sum",)

    def __init__(self) -> None:
        self.sum = 0.0

    def record(self, value: float, now_ms: int) -> None:  # noqa: ARG002 - see Stat
        """Take a value in."""
        self.sum += value

    def measure(self, now_ms: int) -> float:  # noqa: ARG002 - see Stat
        """The sum."""
        return self.sum


class Meter:
    """A rate and its total in one: what a sensor records into when it has both."""

    __slots__ = ("_rate", "_total")

    def __init__(self, rate: Rate, total: CumulativeSum) -> None:
        self._rate = rate.stat
        self._total = total

    def record(self, value: float, now_ms: int) -> None:
        """Take a value in."""
        self._rate.record(value, now_ms)
        self._total.sum += self._rate.total(value)

    def measure(self, now_ms: int) -> float:
        """The total."""
        return self._total.measure(now_ms)
