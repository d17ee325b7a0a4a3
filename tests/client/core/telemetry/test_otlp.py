"""MetricsData as we write it, beside bytes that the Java producer 4.3.1 has pushed."""

from __future__ import annotations

import math
from pathlib import Path

from broker_client.core.telemetry.otlp import Point, Sum, metrics_data
from tests.client.core.telemetry.read_metrics_data import read_metrics_data

RECORDED = Path(__file__).parent / "recorded" / "metrics-data-4.3.1.bin"


def test_what_java_pushed_is_written_the_same() -> None:
    pushed = RECORDED.read_bytes()
    points, resource = read_metrics_data(pushed)
    assert metrics_data(points, resource) == pushed


def test_what_java_pushed_has_every_form() -> None:
    points, resource = read_metrics_data(RECORDED.read_bytes())
    assert resource == []
    assert any(point.attributes for point in points)
    assert any(isinstance(point.value, int) for point in points)
    assert any(math.isnan(point.value) for point in points)
    assert {point.sum is not None and point.sum.is_delta for point in points} == {False, True}


def test_a_sum_since_the_beginning_and_a_resource_are_written() -> None:
    point = Point(
        name="a.total", attributes=[("topic", "ä" * 100)], value=1.5, time_ms=7, sum=Sum(since_ms=3, is_delta=False)
    )
    written = metrics_data([point], [("transactional_id", "t")])
    assert read_metrics_data(written) == ([point], [("transactional_id", "t")])


def test_nothing_is_nothing() -> None:
    assert metrics_data([], []) == b""
