"""Statistics over windows of samples: the numbers are those that Kafka's rules give."""

from __future__ import annotations

import math

import pytest

from broker_client.core.metrics.registry import Metrics, RecordingLevel
from broker_client.core.metrics.stats import (
    NANOSECONDS,
    Avg,
    Max,
    MetricConfig,
    Rate,
    SampleWindow,
    WindowedSum,
)
from broker_client.errors import IllegalState

CONFIG = MetricConfig(samples=2, window_ms=1_000)


def metrics(level: RecordingLevel = RecordingLevel.INFO) -> Metrics:
    return Metrics(config=CONFIG, now_ms=lambda: 0, tags={"client-id": "test"}, level=level)


def test_what_was_never_measured_is_not_a_number() -> None:
    window = SampleWindow(CONFIG)
    assert math.isnan(Avg(window).measure(0))
    assert math.isnan(Max(window).measure(0))
    assert Rate(WindowedSum(window)).measure(0) == 0


def test_an_average_is_of_the_window() -> None:
    window = SampleWindow(CONFIG)
    average = Avg(window)
    for now_ms, value in ((0, 1.0), (500, 3.0), (1_000, 8.0)):
        window.record(value, now_ms)
    assert average.measure(1_000) == 4
    assert average.measure(2_499) == 4  # the first sample ended at 500, less than two windows ago
    assert average.measure(2_500) == 8
    assert math.isnan(average.measure(3_000))


def test_a_maximum_may_be_negative() -> None:
    window = SampleWindow(CONFIG)
    largest = Max(window)
    window.record(-5, 0)
    window.record(-7, 1)
    assert largest.measure(1) == -5


def test_a_rate_that_has_just_begun_counts_one_window_as_over() -> None:
    window = SampleWindow(CONFIG)
    rate = Rate(WindowedSum(window))
    window.record(10, 0)
    assert rate.measure(0) == 10
    assert rate.measure(500) == pytest.approx(10 / 1.5)
    assert rate.measure(1_000) == 10
    assert rate.measure(1_600) == pytest.approx(10 / 1.6)


def test_a_sample_that_overlaps_the_window_is_kept() -> None:
    window = SampleWindow(CONFIG)
    rate = Rate(WindowedSum(window))
    for now_ms in (0, 900, 1_000, 1_900, 2_000):
        window.record(1, now_ms)
    assert rate.measure(2_500) == pytest.approx(5 / 2.5)
    # From 2900 on nothing of the first sample is in the window.
    assert rate.measure(2_900) == pytest.approx(3 / 1.9)


def test_the_oldest_sample_gives_way_to_the_newest() -> None:
    window = SampleWindow(CONFIG)
    rate = Rate(WindowedSum(window))
    for now_ms in range(0, 10_000, 1_000):
        window.record(1, now_ms)
    assert rate.measure(9_999) == pytest.approx(2 / 1.999)


def test_a_count_takes_values_as_one_each_in_rate_and_total() -> None:
    made = metrics()
    sensor = made.sensor()
    rate, total = made.name("request-rate", "g"), made.name("request-total", "g")
    sensor.add_meter(rate, total, counts=True)
    sensor.record(400, 0)
    sensor.record(600, 0)
    assert made.read().value("request-rate") == made.read().value("request-total") == 2


def test_a_ratio_is_nanoseconds_by_nanoseconds() -> None:
    window = SampleWindow(CONFIG)
    ratio = Rate(WindowedSum(window), NANOSECONDS)
    window.record(250_000_000, 0)
    assert ratio.measure(0) == 0.25


def test_a_window_of_no_length_holds_nothing() -> None:
    window = SampleWindow(MetricConfig(samples=1, window_ms=0))
    rate = Rate(WindowedSum(window))
    window.record(3, 0)
    assert rate.measure(0) == 0


@pytest.mark.parametrize("level", list(RecordingLevel))
def test_a_sensor_above_the_recording_level_measures_nothing(level: RecordingLevel) -> None:
    made = metrics(RecordingLevel.DEBUG)
    sensor = made.sensor(level=level)
    sensor.add(made.name("seen-max", "g"), Max)
    sensor.record(1, 0)
    assert math.isnan(made.read().value("seen-max")) == (level is RecordingLevel.TRACE)


def test_a_sensor_records_into_its_parents() -> None:
    made = metrics()
    parent = made.sensor()
    parent.add(made.name("all-max", "g"), Max)
    child = made.sensor(parent)
    child.record(7, 0)
    assert made.read().value("all-max") == 7


def test_a_name_is_taken_once() -> None:
    made = metrics()
    made.gauge(made.name("here", "g"), lambda _: 1.0)
    made.gauge(made.name("here", "g"), lambda _: 2.0)
    with pytest.raises(IllegalState, match=r"there is a metric g:here\(client-id=test\) already"):
        made.read()
