"""A snapshot of metrics, under Java's names. Mirrors MetricName, Metric and the methods `metrics` of Java's clients.

    producer.metrics()["record-send-total"]
    consumer.metrics().value("records-lag", topic="orders", partition="0")

A snapshot never changes. A metric without a measurement is not a number (NaN), as in Java.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from broker_client.errors import ProducerError
from protocol_specs.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Metric", "MetricName", "MetricsSnapshot"]

MetricValue: TypeAlias = float | int | str

_CLIENT_TAG: Final = "client-id"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class MetricName:
    """The name of a metric; its tags name the client, node or topic."""

    group: str
    name: str
    tags: tuple[tuple[str, str], ...] = ()
    description: str = field(default="", compare=False)

    def __str__(self) -> str:
        tags = ", ".join(f"{key}={value}" for key, value in self.tags)
        return f"{self.group}:{self.name}({tags})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric and its value; a number but for app-info's version and commit-id."""

    metric_name: MetricName
    value: MetricValue

    @property
    def name(self) -> str:
        """Java's name, without group and tags."""
        return self.metric_name.name

    @property
    def is_of_client(self) -> bool:
        """True for a metric of the whole client: it has no tag but the client's id."""
        return all(key == _CLIENT_TAG for key, _ in self.metric_name.tags)

    @property
    def description(self) -> str:
        """The description, in Java's words."""
        return self.metric_name.description


class MetricsSnapshot:
    """All metrics at one time, in the order of their registration."""

    __slots__ = ("_metrics",)

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = tuple(metrics)

    def __iter__(self) -> Iterator[Metric]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def __getitem__(self, name: str) -> float:
        """Return the value of a metric of the whole client.

        Raises:
            KeyError: there is no such metric with a number.
        """
        for metric in self._metrics:
            if metric.name == name and metric.is_of_client and not isinstance(metric.value, str):
                return metric.value
        raise KeyError(name)

    def by_name(self) -> dict[MetricName, MetricValue]:
        """Return all values by group, name and tags."""
        return {metric.metric_name: metric.value for metric in self._metrics}

    def find(self, name: str, *, group: str | None = None, **tags: str) -> list[Metric]:
        """Return all metrics of a name, restricted to a group and tags if given: topic="orders", node_id="node-1"."""
        wanted = [(key.replace("_", "-"), value) for key, value in tags.items()]
        return [
            metric
            for metric in self._metrics
            if metric.name == name
            and (group is None or metric.metric_name.group == group)
            and all(tag in metric.metric_name.tags for tag in wanted)
        ]

    def get(self, name: str, *, group: str | None = None, **tags: str) -> Metric:
        """Return the only metric of a name; without group and tags, that of the whole client.

        Raises:
            ProducerError: no metric matches, or several do.
        """
        found = self.find(name, group=group, **tags)
        if len(found) > 1 and group is None and not tags:
            found = [metric for metric in found if metric.is_of_client] or found
        if len(found) == 1:
            return found[0]
        requested = f"{name!r}" + (f" of {group}" if group is not None else "") + (f" with {tags}" if tags else "")
        if not found:
            hint = nearest(name, [metric.name for metric in self._metrics if metric.name != name])
            raise ProducerError(f"there is no metric {requested}{hint}")
        shown = ", ".join(str(metric.metric_name) for metric in found[:3])
        raise ProducerError(f"there are {len(found)} metrics {requested}: {shown} ...: name the group or a tag")

    def value(self, name: str, *, group: str | None = None, **tags: str) -> float:
        """Return the number of the only metric of a name, as `get` finds it.

        Raises:
            ProducerError: no metric matches, several do, or the value is text.
        """
        value = self.get(name, group=group, **tags).value
        if isinstance(value, str):
            raise ProducerError(f"the metric {name!r} is text, {value!r}")
        return value
