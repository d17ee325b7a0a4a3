"""The metrics of producers and consumers alike: groups of names, the time of calls, and the identity of the client.

Mirrors SensorBuilder, and the metrics of AppInfoParser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.metrics.stats import SECONDS, Avg, Max
from broker_client.core.producer.sender_loop import now_ms_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.metrics.registry import Metrics, Sensor
    from broker_client.metrics import MetricName, MetricValue
    from sim_runtime.interfaces import IReactor

__all__ = ["S_IN_NS", "MetricGroup", "TimeTotal", "register_app_info"]

APP_INFO: Final = "app-info"
UNKNOWN_COMMIT: Final = "unknown"
S_IN_NS: Final = 1e9


class MetricGroup:
    """Makes the sensors and gauges of one group; `tags` are part of every name, besides those of the client."""

    __slots__ = ("_group", "_metrics", "_note", "_tags")

    def __init__(self, metrics: Metrics, group: str, *, note: str = "", **tags: str) -> None:
        """`note` ends every description."""
        self._metrics = metrics
        self._group = group
        self._note = note
        self._tags = tags

    def name(self, name: str, description: str) -> MetricName:
        """A name in this group."""
        return self._metrics.name(name, self._group, description + self._note, **self._tags)

    def sensor(self) -> Sensor:
        """A sensor without metrics."""
        return self._metrics.sensor()

    def average_and_max(self, name: str, average: str, largest: str, sensor: Sensor | None = None) -> Sensor:
        """A sensor, or the given one, with an average and a maximum."""
        sensor = sensor or self.sensor()
        sensor.add(self.name(f"{name}-avg", average), Avg)
        sensor.add(self.name(f"{name}-max", largest), Max)
        return sensor

    def meter(
        self,
        name: str,
        rate: str,
        total: str,
        sensor: Sensor | None = None,
        *,
        counts: bool = False,
        unit: float = SECONDS,
        per: str = "rate",
    ) -> Sensor:
        """A sensor, or the given one, with a rate and a total, of values or of how many there were."""
        sensor = sensor or self.sensor()
        names = self.name(f"{name}-{per}", rate), self.name(f"{name}-total", total)
        sensor.add_meter(*names, counts=counts, unit=unit)
        return sensor

    def gauge(self, name: str, description: str, measure: Callable[[int], MetricValue]) -> MetricName:
        """A metric whose function is called with the time at each read."""
        made = self.name(name, description)
        self._metrics.gauge(made, measure)
        return made


class TimeTotal:
    """The time that calls of one kind took altogether, in nanoseconds."""

    __slots__ = ("_reactor", "_sensor")

    def __init__(self, sensor: Sensor, reactor: IReactor) -> None:
        self._sensor = sensor
        self._reactor = reactor

    def since(self, began_s: float) -> None:
        """A call that began then has ended."""
        took_s = max(self._reactor.seconds() - began_s, 0.0)
        self._sensor.record(round(took_s * S_IN_NS), now_ms_of(self._reactor))


def register_app_info(metrics: Metrics, version: str) -> None:
    """The version of this software and its start time; a package has no commit id."""
    start_ms = metrics.now_ms()
    for name, value in (("version", version), ("commit-id", UNKNOWN_COMMIT), ("start-time-ms", start_ms)):
        metrics.gauge(metrics.name(name, APP_INFO, f"Metric indicating {name}"), _always(value))


def _always(value: MetricValue) -> Callable[[int], MetricValue]:
    return lambda _: value
