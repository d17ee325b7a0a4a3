from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.paired_rounds import median_error
from benchmarks.result import Result, table

FIGURE = Result(name="what", ours="1", other="2", figure=1.0, target=1.0, at_least=True, unit="x")


@pytest.mark.parametrize(
    ("at_least", "figure", "reached"),
    [(True, 1.01, True), (True, 1.0, True), (True, 0.996, False), (False, 0.99, True), (False, 1.004, False)],
)
def test_a_target_is_reached_or_missed_for_any_error(at_least: bool, figure: float, reached: bool) -> None:
    assert replace(FIGURE, at_least=at_least, figure=figure, error=0.02).reached == reached


@pytest.mark.parametrize(
    ("at_least", "figure", "error", "verdict"),
    [
        (True, 1.0, 0.004, "reached"),
        (True, 0.997, 0.002, "even"),
        (True, 0.997, 0.001, "MISSED"),
        (True, 0.997, None, "MISSED"),
        (True, 0.989, 0.02, "MISSED"),
        (False, 1.003, 0.002, "even"),
        (False, 1.011, 0.02, "MISSED"),
    ],
)
def test_what_chance_may_have_done_is_even_if_it_is_next_to_nothing(
    at_least: bool, figure: float, error: float | None, verdict: str
) -> None:
    assert replace(FIGURE, at_least=at_least, figure=figure, error=error).verdict == verdict


@pytest.mark.parametrize(
    ("figure", "error", "text"),
    [
        (0.987, 0.021, "0.99 +- 0.02x >= 1x MISSED"),
        (0.9968, 0.0041, "0.997 +- 0.004x >= 1x even"),
        (1.237, None, "1.24x >= 1x reached"),
    ],
)
def test_an_error_stands_behind_its_figure(figure: float, error: float | None, text: str) -> None:
    line = table([replace(FIGURE, figure=figure, error=error)]).splitlines()[1]
    assert " ".join(line.split()).endswith(text)


def test_the_standard_error_of_a_median_is_half_the_spread_of_its_neighbours() -> None:
    assert median_error([float(number) for number in range(100)]) == 5.0
    assert median_error([3.0, 1.0]) == 1.0
