"""Metrics as Prometheus text: `kafka_network_requestmetrics_totaltimems{broker="1",request="Produce",quantile="0.5"}`.

Names are those that the JMX exporter makes of Kafka's MBeans: domain, type and name, in small letters.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from broker_sim.metrics.metric import QUANTILES, Histogram, Meter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.metrics.metric import Metric

__all__ = ["render"]

_NOT_IN_NAMES = re.compile(r"[^a-z0-9_]")


def render(metrics: Iterable[Metric]) -> str:
    """One family after another, each with its type."""
    families: dict[str, list[Metric]] = {}
    for metric in metrics:
        parts = [metric.domain, metric.type, metric.name]
        name = _NOT_IN_NAMES.sub("_", "_".join(part for part in parts if part).lower())
        families.setdefault(f"{name}_total" if isinstance(metric.value, Meter) else name, []).append(metric)
    lines: list[str] = []
    for name, members in families.items():
        value = members[0].value
        kind = "counter" if isinstance(value, Meter) else "summary" if isinstance(value, Histogram) else "gauge"
        lines.append(f"# TYPE {name} {kind}")
        for metric in members:
            lines.extend(_lines(name, metric))
    return "\n".join(lines) + "\n" if lines else ""


def _lines(name: str, metric: Metric) -> list[str]:
    value = metric.value
    labels = [] if metric.broker is None else [("broker", str(metric.broker))]
    labels += metric.tags
    if isinstance(value, Meter):
        return [f"{name}{_labels(labels)} {value.count}"]
    if isinstance(value, Histogram):
        lines = [
            f"{name}{_labels([*labels, ('quantile', str(quantile))])} {_number(getattr(value, field))}"
            for field, quantile in QUANTILES.items()
        ]
        lines.append(f"{name}_sum{_labels(labels)} {_number(value.mean * value.count)}")
        lines.append(f"{name}_count{_labels(labels)} {value.count}")
        return lines
    return [f"{name}{_labels(labels)} {_number(value)}"]


def _labels(labels: list[tuple[str, str]]) -> str:
    shown = ",".join(f'{_NOT_IN_NAMES.sub("_", key.lower())}="{_escaped(value)}"' for key, value in labels)
    return f"{{{shown}}}" if shown else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)
