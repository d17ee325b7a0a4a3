"""A measure of brokers by the metrics that Kafka has for it, such as ProducerIdCount (the check res-memory).

The metrics are read while the clients play, at each step of the run, if a scenario expects something of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.measures.measure import Measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from broker_scenarios.expectations import Expectation
    from broker_scenarios.measures.measure import RunFacts

__all__ = ["HIGHEST_METRIC", "MEASURES", "MetricSample", "MetricSamples"]

HIGHEST_METRIC: Final = "highest_metric"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSample:
    """The value of a metric at a time; a metric with tags has one for each of them."""

    time_us: int
    metric: str
    broker: int | None
    value: float


class MetricSamples:
    """Reads the metrics that the measures of a scenario need. `read` returns the values of a metric by broker."""

    def __init__(
        self,
        expectation: Expectation,
        read: Callable[[str], Sequence[tuple[int | None, float]]],
        now_us: Callable[[], int],
    ) -> None:
        wanted = (each.select["metric"] for each in expectation.measures if each.measure == HIGHEST_METRIC)
        self._names: Final = tuple(dict.fromkeys(wanted))
        self._read = read
        self._now_us = now_us
        self.taken: list[MetricSample] = []

    def take(self) -> None:
        """Read each of them now."""
        for name in self._names:
            for broker, value in self._read(name):
                self.taken.append(MetricSample(time_us=self._now_us(), metric=name, broker=broker, value=value))


def _highest(facts: RunFacts, select: Mapping[str, Any]) -> float:
    from_us = facts.begin_us + round(select.get("from_ms", 0) * 1000)
    return max(
        (
            each.value
            for each in facts.metrics
            if each.metric == select["metric"]
            and each.time_us >= from_us
            and ("broker" not in select or each.broker == select["broker"])
        ),
        default=0,
    )


MEASURES: Final = (
    Measure(
        name=HIGHEST_METRIC,
        meaning="the highest value of a metric of the brokers, under Kafka's name",
        keys=("metric", "broker", "from_ms"),
        required=("metric",),
        of=_highest,
    ),
)
