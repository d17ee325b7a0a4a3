from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.broker_vs_librdkafka_mock import median_error
from benchmarks.result import Result, table

FIGURE = Result(name="what", ours="1", other="2", figure=1.0, bar=1.0, at_least=True, unit="x")


@pytest.mark.parametrize(
    ("at_least", "figure", "reached"),
    [(True, 1.01, True), (True, 1.0, True), (True, 0.996, False), (False, 0.99, True), (False, 1.004, False)],
)
def test_a_bar_is_reached_or_missed_whatever_the_error(at_least: bool, figure: float, reached: bool) -> None:
    assert replace(FIGURE, at_least=at_least, figure=figure, error=0.02).reached == reached


def test_an_error_stands_behind_its_figure() -> None:
    line = table([replace(FIGURE, figure=0.987, error=0.021)]).splitlines()[1]
    assert line.endswith("0.99 +- 0.02x  >= 1x  MISSED")


def test_the_standard_error_of_a_median_is_half_the_spread_of_its_neighbours() -> None:
    assert median_error([float(number) for number in range(100)]) == 5.0
    assert median_error([3.0, 1.0]) == 1.0
