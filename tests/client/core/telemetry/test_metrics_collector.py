"""Names, kinds and differences of what is pushed."""

from __future__ import annotations

import pytest

from broker_client.core.metrics.registry import Metrics
from broker_client.core.metrics.stats import CumulativeSum, MetricConfig
from broker_client.core.telemetry.metrics_collector import MetricsCollector, selector_of, telemetry_name
from broker_client.core.telemetry.otlp import Sum
from broker_client.metrics import MetricName


class Clock:
    now_ms = 1_000

    def __call__(self) -> int:
        return self.now_ms


@pytest.mark.parametrize(
    ("group", "name", "reported"),
    [
        ("producer-metrics", "record-send-total", "org.apache.kafka.producer.record.send.total"),
        ("producer-node-metrics", "request-latency-avg", "org.apache.kafka.producer.node.request.latency.avg"),
        ("kafka-metrics-count", "count", "org.apache.kafka.kafka.count.count"),
        ("app-info", "start-time-ms", "org.apache.kafka.app.info.start.time.ms"),
    ],
)
def test_names_are_those_of_kip_714(group: str, name: str, reported: str) -> None:
    assert telemetry_name(MetricName(group=group, name=name)) == reported


def test_nothing_everything_or_what_begins_so_is_wanted() -> None:
    assert selector_of([]) is None
    everything, some = selector_of(["*"]), selector_of(["org.apache.kafka.producer.record", "other"])
    assert everything is not None
    assert some is not None
    assert everything("x")
    assert some("org.apache.kafka.producer.record.send.rate")
    assert not some("org.apache.kafka.producer.batch.size.avg")


def test_totals_are_sums_and_other_numbers_gauges() -> None:
    clock = Clock()
    metrics = Metrics(config=MetricConfig(), now_ms=clock, tags={"client-id": "c"})
    sensor = metrics.sensor()
    sensor.add(metrics.name("sent-total", "producer-topic-metrics", topic="orders"), CumulativeSum)
    metrics.gauge(metrics.name("version", "app-info"), lambda _: "1.2")
    collector = MetricsCollector(metrics)
    sensor.record(5, 1_000)
    clock.now_ms = 2_000
    count, total = collector.collect(lambda _: True, delta=True)
    assert (count.name, count.value, count.sum, count.attributes) == (
        "org.apache.kafka.kafka.count.count",
        3,
        None,
        [],
    )
    assert (total.value, total.time_ms, total.attributes) == (5, 2_000, [("topic", "orders")])
    assert total.sum == Sum(since_ms=1_000, is_delta=True)


def test_a_difference_is_since_the_last_time_and_a_sum_since_the_beginning() -> None:
    clock = Clock()
    metrics = Metrics(config=MetricConfig(), now_ms=clock, tags={})
    sensor = metrics.sensor()
    sensor.add(metrics.name("sent-total", "g"), CumulativeSum)
    collector = MetricsCollector(metrics)

    def collected(*, delta: bool) -> tuple[float, Sum | None]:
        (point,) = collector.collect(lambda name: name.endswith("sent.total"), delta=delta)
        return point.value, point.sum

    sensor.record(5, 1_000)
    clock.now_ms = 2_000
    assert collected(delta=True) == (5, Sum(since_ms=1_000, is_delta=True))
    sensor.record(2, 2_500)
    clock.now_ms = 3_000
    assert collected(delta=True) == (2, Sum(since_ms=2_000, is_delta=True))
    assert collected(delta=False) == (7, Sum(since_ms=1_000, is_delta=False))
    collector.reset()
    clock.now_ms = 4_000
    assert collected(delta=False) == (7, Sum(since_ms=4_000, is_delta=False))
    clock.now_ms = 5_000
    assert collected(delta=True) == (7, Sum(since_ms=4_000, is_delta=True))
