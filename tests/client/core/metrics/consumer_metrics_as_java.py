"""The metrics of one run of a consumer: those of Java's are recorded data, with which ours are compared.

`python -m tests.interop.java_consumer_metrics` records Java again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from broker_client import Admin, AlterConfigOp, ConfigResource, Producer
from tests.client.core.metrics.metrics_as_java import CLIENT_ID, RELEASE, TIMESTAMP_MS, TOPIC

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.client.core.metrics.metrics_as_java import Key, Metrics

PROTOCOLS: Final = ("classic", "consumer")
SHARE: Final = "share"
"""The third run: a share consumer."""
GROUP_ID: Final = "billing"
NODE_GROUP: Final = "consumer-node-metrics"
# Sizes of values per partition, a list for each flush: one batch each.
WRITTEN: Final[Mapping[int, tuple[list[int], ...]]] = {0: ([10, 100, 1000], [5]), 1: ([7, 7],)}
RECORD_COUNT: Final = 6
SHARE_CONFIG: Final[Mapping[str, object]] = {"client.id": CLIENT_ID, "group.id": GROUP_ID}
CONFIG: Final[Mapping[str, object]] = {**SHARE_CONFIG, "auto.offset.reset": "earliest"}
# Times, and the numbers of requests, heartbeats and polls, depend on the clock.
_FIXED: Final = (
    "acknowledgements-error-total",
    "acknowledgements-send-total",
    "assigned-partitions",
    "bytes-consumed-total",
    "commit-total",
    "failed-rebalance-total",
    "fetch-size-avg",
    "fetch-size-max",
    "join-total",
    "partition-assigned-latency-avg",
    "partition-lost-latency-max",
    "preferred-read-replica",
    "rebalance-total",
    "records-consumed-total",
    "records-lag",
    "records-lag-avg",
    "records-lag-max",
    "records-lead",
    "records-lead-avg",
    "records-lead-min",
    "records-per-request-avg",
    "sync-total",
)
# How many responses have the records, and how many assignments they are for, is a matter of time.
_OF_CHANCE_IN_SHARE_GROUPS: Final = ("fetch-size-avg", "fetch-size-max", "records-per-request-avg", "rebalance-total")


def write(bootstrap_servers: str) -> None:
    """Write the records that are read; a share group reads them from the first on."""
    with Admin(bootstrap_servers=bootstrap_servers) as admin:
        earliest = AlterConfigOp(name="share.auto.offset.reset", value="earliest")
        admin.incremental_alter_configs({ConfigResource.group(GROUP_ID): [earliest]})
    with Producer(
        {"linger.ms": 20_000, "enable.idempotence": "false"}, bootstrap_servers=bootstrap_servers
    ) as producer:
        for partition, flushes in WRITTEN.items():
            for sizes in flushes:
                for size in sizes:
                    producer.send(TOPIC, bytes(size), partition=partition, timestamp_ms=TIMESTAMP_MS)
                producer.flush(20)


def comparable(snapshots: list[Metrics]) -> dict[str, list[dict[str, Any]]]:
    """Names, tags and descriptions in order; with the values that every run measures.

    The metrics of nodes are left out at first: they depend on whether the client has connected by then.
    """
    made, read, left = snapshots
    return {
        "made": [_named(made, key) for key in _ordered(made) if key[0] != NODE_GROUP],
        "read": [_valued(read, key) for key in _ordered(read)],
        "left": [_valued(left, key) for key in _ordered(left) if _is_fixed(key)],
    }


def _ordered(metrics: Metrics) -> list[Key]:
    return sorted(metrics, key=lambda key: (*key[:2], sorted(key[2])))


def _named(metrics: Metrics, key: Key) -> dict[str, Any]:
    return {"group": key[0], "name": key[1], "tags": dict(sorted(key[2])), "description": metrics[key][0]}


def _valued(metrics: Metrics, key: Key) -> dict[str, Any]:
    named = _named(metrics, key)
    return {**named, "value": metrics[key][1]} if _is_fixed(key) else named


def _is_fixed(key: Key) -> bool:
    return key[1] in _FIXED and not ("-share-" in key[0] and key[1] in _OF_CHANCE_IN_SHARE_GROUPS)


def recorded_file(protocol: str) -> Path:
    """The data of one group protocol."""
    return Path(__file__).parent / "recorded" / f"consumer-metrics-{RELEASE}-{protocol}.json"


def recorded(protocol: str) -> dict[str, list[dict[str, Any]]]:
    """`made`, `read` and `left`."""
    found: dict[str, list[dict[str, Any]]] = json.loads(recorded_file(protocol).read_text())
    return found
