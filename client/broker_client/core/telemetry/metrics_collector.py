"""The metrics that a client pushes, under their names of KIP-714.

Mirrors KafkaMetricsCollector and TelemetryMetricNamingConvention. Totals are sums, all other numbers gauges.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_client.core.metrics.registry import RegisteredMetric
from broker_client.core.metrics.stats import CumulativeSum
from broker_client.core.telemetry.otlp import Point, Sum

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.metrics.registry import Metrics
    from broker_client.metrics import MetricName

__all__ = ["MetricsCollector", "selector_of", "telemetry_name"]

DOMAIN: Final = "org.apache.kafka"
ALL_METRICS: Final = "*"
_REDUNDANT: Final = re.compile(r"\.metrics")
# The broker knows it from the request.
_EXCLUDED_TAG: Final = "client-id"
_log = Logger()


def telemetry_name(name: MetricName) -> str:
    """Such as org.apache.kafka.producer.record.send.total."""
    group = _REDUNDANT.sub("", name.group.lower().replace("-", "."))
    return f"{DOMAIN}.{group}.{name.name.lower().replace('-', '.')}"


def selector_of(requested: list[str]) -> Callable[[str], bool] | None:
    """Which names are wanted: those that begin with one of these; None: nothing is wanted."""
    if not requested:
        return None
    if requested == [ALL_METRICS]:
        return lambda _: True
    prefixes = tuple(requested)
    return lambda name: name.startswith(prefixes)


class MetricsCollector:
    """Remembers what a sum was when it was last collected, for those who want differences."""

    __slots__ = ("_application", "_last", "_metrics", "_since")

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._application: dict[MetricName, RegisteredMetric] = {}
        self._last: dict[MetricName, tuple[int, float]] = {}
        self._since: dict[MetricName, int] | None = None  # None: since they were registered

    def register(self, name: MetricName, measure: Callable[[], float]) -> bool:
        """Collect a metric of the application, too (KIP-1076); return False if the client has one of that name."""
        if any(name == metric.name for metric in self._metrics.registered()):
            return False
        added_ms = self._metrics.now_ms()
        self._application[name] = RegisteredMetric(name, lambda _: _of_application(name, measure), None, added_ms)
        return True

    def unregister(self, name: MetricName) -> None:
        """Collect a metric of the application no more."""
        self._application.pop(name, None)

    def reset(self) -> None:
        """The temporality has changed: every sum begins anew."""
        self._last.clear()
        self._since = {}

    def collect(self, wants: Callable[[str], bool], *, delta: bool) -> list[Point]:
        """The points of all wanted metrics that are numbers."""
        now_ms = self._metrics.now_ms()
        points = []
        for metric in [*self._metrics.registered(), *self._application.copy().values()]:
            name = telemetry_name(metric.name)
            if not wants(name):
                continue
            value = self._metrics.measure(metric, now_ms)
            if isinstance(value, str):
                continue
            of_sum = None
            if isinstance(metric.stat, CumulativeSum):
                value, of_sum = self._sum(metric, value, now_ms, delta=delta)
            attributes = [
                (key.lower().replace("-", "_"), text) for key, text in metric.name.tags if key != _EXCLUDED_TAG
            ]
            points.append(Point(name=name, attributes=attributes, value=value, time_ms=now_ms, sum=of_sum))
        return points

    def _sum(self, metric: RegisteredMetric, value: float, now_ms: int, *, delta: bool) -> tuple[float, Sum]:
        since_ms = metric.added_ms if self._since is None else self._since.setdefault(metric.name, now_ms)
        if not delta:
            return value, Sum(since_ms=since_ms, is_delta=False)
        since_ms, before = self._last.get(metric.name, (since_ms, 0.0))
        self._last[metric.name] = now_ms, value
        return value - before, Sum(since_ms=since_ms, is_delta=True)


def _of_application(name: MetricName, measure: Callable[[], float]) -> float:
    try:
        return float(measure())
    except Exception:  # noqa: BLE001 - the metrics of the client are pushed nevertheless
        _log.failure("telemetry: a metric of the application raised name={name}", name=name)
        return math.nan
