from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.result import Result, table

FIGURE = Result(name="what", ours="1", other="2", figure=1.0, bar=1.0, at_least=True, unit="x")


@pytest.mark.parametrize(
    ("at_least", "figure", "error", "verdict"),
    [
        (True, 1.01, None, "reached"),
        (True, 0.99, None, "MISSED"),
        (True, 0.99, 0.02, "even"),
        (True, 0.95, 0.02, "MISSED"),
        (False, 0.99, 0.02, "reached"),
        (False, 1.03, 0.02, "even"),
        (False, 1.05, 0.02, "MISSED"),
        (False, 1.01, None, "MISSED"),
    ],
)
def test_a_verdict_knows_of_chance(at_least: bool, figure: float, error: float | None, verdict: str) -> None:
    assert replace(FIGURE, at_least=at_least, figure=figure, error=error).verdict == verdict


def test_an_error_stands_behind_its_figure() -> None:
    line = table([replace(FIGURE, figure=0.987, error=0.021)]).splitlines()[1]
    assert line.endswith("0.99 +- 0.02x  >= 1x  even")
