"""The metrics of one run of sends: those of Java's producer are recorded data, with which ours are compared.

`python -m tests.interop.java_producer_metrics` records Java again.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_client.metrics import MetricsSnapshot

RELEASE: Final = "4.3.1"
NODE_GROUP: Final = "producer-node-metrics"
RECORDED: Final = Path(__file__).parent / "recorded" / f"producer-metrics-{RELEASE}.json"
CLIENT_ID: Final = "probe"
TOPIC: Final = "orders"
TIMESTAMP_MS: Final = 1234
# Sizes of values, a list for each flush: one batch each.
SENT: Final = ([10, 100, 1000], [5, 5])
# A producer would request an id again and again while a new broker has none to assign.
CONFIG: Final[Mapping[str, object]] = {"client.id": CLIENT_ID, "linger.ms": 20_000, "enable.idempotence": "false"}

Key: TypeAlias = tuple[str, str, tuple[tuple[str, str], ...]]
Metrics: TypeAlias = "Mapping[Key, tuple[str, object]]"
"""Description and value by group, name and tags."""

# What the clock or the software decides, by the end of the name.
_OF_CHANCE: Final = (
    "-rate",
    "-ratio",
    "-ns-avg",
    "-ns-total",
    "select-total",
    "buffer-available-bytes",  # a flush ends before the last batch gives its memory back
    "metadata-age",
    "record-queue-time-avg",
    "record-queue-time-max",
    "request-latency-avg",
    "request-latency-max",
)
# These bytes name the client and the broker: names, versions, hosts.
_OF_NAMES: Final = ("incoming-byte-total", "outgoing-byte-total", "request-size-avg")


def is_fixed(key: Key) -> bool:
    """True if every run has the same value; compression-rate is no rate."""
    group, name, tags = key
    if group == "app-info" or name in _OF_NAMES or (name == "request-size-max" and ("node-id", "node--1") in tags):
        return False
    return name == "compression-rate" or not name.endswith(_OF_CHANCE)


def of_java(metrics: Iterable[Mapping[str, Any]]) -> Metrics:
    """The output of the Java program."""
    return {
        (one["group"], one["name"], tuple(one["tags"].items())): (one["description"], one["value"]) for one in metrics
    }


def of_ours(snapshot: MetricsSnapshot) -> Metrics:
    """The metrics of our producer."""
    return {
        (one.metric_name.group, one.name, one.metric_name.tags): (
            one.description,
            "NaN" if isinstance(one.value, float) and math.isnan(one.value) else one.value,
        )
        for one in snapshot
    }


def comparable(made: Metrics, sent: Metrics) -> dict[str, list[dict[str, Any]]]:
    """Names, tags and descriptions in order; with the values that every run measures, once all is sent.

    The metrics of nodes are left out at first: they depend on whether the thread has connected by then.
    """
    return {
        "made": [_named(made, key) for key in sorted(made) if key[0] != NODE_GROUP],
        "sent": [
            {**_named(sent, key), "value": sent[key][1]} if is_fixed(key) else _named(sent, key) for key in sorted(sent)
        ],
    }


def _named(metrics: Metrics, key: Key) -> dict[str, Any]:
    return {"group": key[0], "name": key[1], "tags": dict(key[2]), "description": metrics[key][0]}


def recorded() -> dict[str, list[dict[str, Any]]]:
    """`made` and `sent`."""
    response: dict[str, list[dict[str, Any]]] = json.loads(RECORDED.read_text())
    return response


def as_text(metrics: Mapping[str, list[dict[str, Any]]]) -> str:
    """A metric a line, so that a change of the file can be read."""
    parts = [f'"{when}": [\n' + ",\n".join(map(json.dumps, found)) + "\n]" for when, found in metrics.items()]
    return "{" + ",\n".join(parts) + "}\n"
