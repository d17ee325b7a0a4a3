"""Metrics of the Java producer and of ours after the same sends to the same cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_client import Producer
from tests.client.core.metrics.metrics_as_java import CONFIG, SENT, TIMESTAMP_MS, TOPIC, comparable, of_ours, recorded
from tests.differential.probe import attempts
from tests.interop.java_producer_metrics import SERVED, run_java
from tests.interop.served_cluster import served_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.served_cluster import ServedCluster

WAIT_S = 60
# Versions and metadata are requested in any case: all that follows is the same in every run.
FIRST_RESPONSES = 2


@pytest.fixture(scope="module")
def served() -> Iterator[ServedCluster]:
    with served_cluster(*SERVED) as cluster:
        yield cluster


def test_java_measures_what_was_recorded(served: ServedCluster) -> None:
    assert run_java(served.bootstrap_servers) == recorded()


def test_ours_measures_the_same(served: ServedCluster) -> None:
    with Producer(CONFIG, bootstrap_servers=served.bootstrap_servers) as producer:
        made = of_ours(producer.metrics())
        for _ in attempts("versions and metadata", seconds=WAIT_S):
            if producer.metrics()["response-total"] >= FIRST_RESPONSES:
                break
        for sizes in SENT:
            for size in sizes:
                producer.send(TOPIC, bytes(size), partition=0, timestamp_ms=TIMESTAMP_MS)
            producer.flush(WAIT_S)
        sent = of_ours(producer.metrics())
    assert comparable(made, sent) == recorded()
