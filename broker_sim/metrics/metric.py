"""Metrics as they are read: gauges, meters and histograms by Kafka's names. Mirrors the JMX metrics of a broker.

    cluster.metrics().value("UnderReplicatedPartitions", broker=1)
    cluster.metrics().histogram("TotalTimeMs", broker=1, request="Produce").p99

A snapshot is made on request; nothing of it changes later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from broker_sim.errors import BrokerSimError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Histogram", "Meter", "Metric", "MetricsSnapshot", "histogram_of"]

QUANTILES: Final = {"p50": 0.5, "p75": 0.75, "p95": 0.95, "p98": 0.98, "p99": 0.99, "p999": 0.999}


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """The number of events, and their mean rate per second since the broker started."""

    count: int
    mean_rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """`count` is of all values; the rest is of a sample of the newest."""

    count: int
    min: float
    max: float
    mean: float
    p50: float
    p75: float
    p95: float
    p98: float
    p99: float
    p999: float


Value: TypeAlias = float | Meter | Histogram


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric; `domain`, `type`, `name` and `tags` are those of Kafka's MBean."""

    domain: str
    type: str
    name: str
    broker: int | None
    """The broker's id; None for the controller's metrics."""
    tags: tuple[tuple[str, str], ...] = ()
    value: Value

    @property
    def mbean(self) -> str:
        """The name that JMX has for it."""
        tags = "".join(f",{key}={value}" for key, value in self.tags)
        name = f",name={self.name}" if self.name else ""
        return f"{self.domain}:type={self.type}{name}{tags}"


class MetricsSnapshot:
    """Every metric of one moment, in a fixed order."""

    __slots__ = ("_metrics",)

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = tuple(metrics)

    def __iter__(self) -> Iterator[Metric]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def find(self, name: str, *, broker: int | None = None, **tags: str) -> list[Metric]:
        """Return all metrics of a name, restricted to a broker and tags if they are given."""
        return [
            metric
            for metric in self._metrics
            if metric.name == name
            and (broker is None or metric.broker == broker)
            and all((key, value) in metric.tags for key, value in tags.items())
        ]

    def get(self, name: str, *, broker: int | None = None, **tags: str) -> Metric:
        """Return the metric of a name.

        Raises:
            BrokerSimError: There is none, or more than one.
        """
        found = self.find(name, broker=broker, **tags)
        if len(found) == 1:
            return found[0]
        requested = (
            f"{name!r}" + (f" of broker {broker}" if broker is not None else "") + (f" with {tags}" if tags else "")
        )
        if not found:
            msg = f"there is no metric {requested}{nearest(name, [metric.name for metric in self._metrics])}"
            raise BrokerSimError(msg)
        shown = ", ".join(f"{metric.mbean} (broker {metric.broker})" for metric in found[:3])
        msg = f"there are {len(found)} metrics {requested}: {shown} ...: name the broker or a tag"
        raise BrokerSimError(msg)

    def value(self, name: str, *, broker: int | None = None, **tags: str) -> float:
        """A gauge's value, a meter's or a histogram's count."""
        return _number(self.get(name, broker=broker, **tags).value)

    def values(self, name: str) -> list[tuple[int | None, float]]:
        """Return the value of each metric of a name, as of `value`, with its broker."""
        return [(metric.broker, _number(metric.value)) for metric in self.find(name)]

    def histogram(self, name: str, *, broker: int | None = None, **tags: str) -> Histogram:
        """Return a histogram.

        Raises:
            BrokerSimError: The metric is no histogram.
        """
        metric = self.get(name, broker=broker, **tags)
        if not isinstance(metric.value, Histogram):
            msg = f"the metric {metric.mbean} is no histogram"
            raise BrokerSimError(msg)
        return metric.value

    def to_prometheus(self) -> str:
        """The Prometheus text format, version 0.0.4."""
        from broker_sim.metrics.prometheus import render

        return render(self._metrics)


def _number(value: Value) -> float:
    return value.count if isinstance(value, Meter | Histogram) else value


def histogram_of(values: Sequence[float], count: int) -> Histogram:
    """Return the histogram of the newest of `count` values."""
    ordered = sorted(values)
    if not ordered:
        return Histogram(count=count, min=0.0, max=0.0, mean=0.0, **dict.fromkeys(QUANTILES, 0.0))
    last = len(ordered) - 1
    quantiles = {name: ordered[min(last, int(quantile * len(ordered)))] for name, quantile in QUANTILES.items()}
    return Histogram(count=count, min=ordered[0], max=ordered[-1], mean=sum(ordered) / len(ordered), **quantiles)
