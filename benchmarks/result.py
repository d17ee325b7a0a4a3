"""What a benchmark found beside what it should reach, and the table of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

ERRORS_OF_CHANCE: Final = 2
"""Two sittings of the same differ by more than so many standard errors once in twenty times."""
EVEN_SHARE: Final = 0.01
"""What is further from its bar than this share of it is not even with it, however much chance there may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One figure. `bar` is reached from above (`at_least`) or from below; `error` is the figure's standard error."""

    name: str
    ours: str
    other: str
    figure: float
    bar: float
    at_least: bool
    unit: str
    error: float | None = None

    @property
    def reached(self) -> bool:
        """Whether the figure is on the right side of its bar, whatever its error."""
        return self._short <= 0

    @property
    def verdict(self) -> str:
        """`reached`, `MISSED`, or `even`: short of the bar by what chance may do, and by next to nothing."""
        if self.reached:
            return "reached"
        chance = 0 if self.error is None else ERRORS_OF_CHANCE * self.error
        return "even" if self._short < min(chance, EVEN_SHARE * self.bar) else "MISSED"

    @property
    def _short(self) -> float:
        return self.bar - self.figure if self.at_least else self.figure - self.bar

    @property
    def told(self) -> str:
        """The figure as text, with as many decimals as its error makes sense of."""
        if self.error is None:
            return f"{self.figure:.2f}{self.unit}"
        decimals = 3 if self.error < EVEN_SHARE * self.figure else 2
        return f"{self.figure:.{decimals}f} +- {self.error:.{decimals}f}{self.unit}"


def table(results: list[Result]) -> str:
    """One line a figure; the last column is its verdict."""
    heads = ("what", "ours", "other", "figure", "bar", "")
    rows = [
        (
            result.name,
            result.ours,
            result.other,
            result.told,
            f"{'>=' if result.at_least else '<='} {result.bar:g}{result.unit}",
            result.verdict,
        )
        for result in results
    ]
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (heads, *rows))
    return "\n".join(line.rstrip() for line in lines)
