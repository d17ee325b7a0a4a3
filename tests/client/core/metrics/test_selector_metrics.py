"""Connections by how they began and ended, and the times of turns."""

from __future__ import annotations

import pytest

from broker_client.core.metrics.registry import Metrics
from broker_client.core.metrics.selector_metrics import MeasuredRunnable, SelectorMetrics
from broker_client.core.metrics.stats import MetricConfig


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(config=MetricConfig(), now_ms=lambda: 0, tags={"client-id": "c"})


@pytest.fixture
def selector(metrics: Metrics) -> SelectorMetrics:
    return SelectorMetrics(metrics, lambda: 3)


@pytest.mark.parametrize("authenticated", [False, True])
def test_only_what_took_more_than_tcp_is_an_authentication(
    metrics: Metrics, selector: SelectorMetrics, *, authenticated: bool
) -> None:
    selector.connected(1, 0, authenticated=authenticated)
    read = metrics.read()
    assert read["connection-creation-total"] == 1
    assert read["successful-authentication-total"] == authenticated
    assert read["successful-authentication-no-reauth-total"] == authenticated


def test_a_refusal_and_an_end_are_counted_apart(metrics: Metrics, selector: SelectorMetrics) -> None:
    selector.connected(1, 0, authenticated=True)
    selector.refused(0, again=False)
    selector.closed(0)
    read = metrics.read()
    assert read["failed-authentication-total"] == read["connection-close-total"] == 1
    assert read["connection-count"] == 3


def test_reauthentications_are_counted_apart(metrics: Metrics, selector: SelectorMetrics) -> None:
    selector.reauthenticated(3, 0)
    selector.reauthenticated(5, 0)
    selector.refused(0, again=True)
    read = metrics.read()
    assert (read["successful-reauthentication-total"], read["failed-reauthentication-total"]) == (2, 1)
    assert (read["reauthentication-latency-avg"], read["reauthentication-latency-max"]) == (4, 5)
    assert read["failed-authentication-total"] == read["successful-authentication-total"] == 0


def test_a_node_keeps_its_metrics_over_connections(metrics: Metrics, selector: SelectorMetrics) -> None:
    for _ in range(2):
        selector.connected(1, 0, authenticated=False)
        selector.sent(1, 100, 0)
        selector.received(1, 60, 0)
        selector.closed(0)
    read = metrics.read()
    assert read.value("request-total", node_id="node-1") == read["request-total"] == 2
    assert read.value("outgoing-byte-total", node_id="node-1") == read["outgoing-byte-total"] == 200
    assert read.value("incoming-byte-total", node_id="node-1") == read["incoming-byte-total"] == 120
    assert read["network-io-total"] == 4
    assert read["request-size-avg"] == 100


def test_the_latency_of_an_unknown_node_is_ignored(metrics: Metrics, selector: SelectorMetrics) -> None:
    selector.latency(7, 5, 0)
    assert metrics.read().find("request-latency-max") == []


def test_a_turn_that_raises_is_measured_too(metrics: Metrics, selector: SelectorMetrics) -> None:
    times = iter([0.0, 2.0, 2.5])

    class Failing:
        def run_once(self, now_ms: int) -> int:
            raise ValueError(now_ms)

    with pytest.raises(ValueError, match="7"):
        MeasuredRunnable(Failing(), selector, lambda: next(times)).run_once(7)
    read = metrics.read()
    assert (read["io-wait-time-ns-total"], read["io-time-ns-total"]) == (2e9, 5e8)
    assert read["select-total"] == 1


def test_the_metrics_of_a_node_begin_with_its_first_connection_and_count_from_then(
    metrics: Metrics, selector: SelectorMetrics
) -> None:
    nothing = metrics.read()
    selector.connected(7, 0, authenticated=False)
    selector.sent(7, 100, 0)
    selector.received(7, 20, 0)
    read = metrics.read()
    of_node = {each.name: each.value for each in read if ("node-id", "node-7") in each.metric_name.tags}
    assert len(read) == len(nothing) + len(of_node)
    assert of_node["request-total"] == of_node["response-total"] == 1
    assert (of_node["outgoing-byte-total"], of_node["incoming-byte-total"]) == (100, 20)
    assert len(metrics.read()) == len(read)
