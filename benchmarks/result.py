"""What a benchmark found beside what it should reach, and the table of it."""

from __future__ import annotations

from dataclasses import dataclass


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
        return self.figure >= self.bar if self.at_least else self.figure <= self.bar

    @property
    def told(self) -> str:
        """The figure as text."""
        error = "" if self.error is None else f" +- {self.error:.2f}"
        return f"{self.figure:.2f}{error}{self.unit}"


def table(results: list[Result]) -> str:
    """One line a figure; the last column says whether the bar is reached."""
    heads = ("what", "ours", "other", "figure", "bar", "")
    rows = [
        (
            result.name,
            result.ours,
            result.other,
            result.told,
            f"{'>=' if result.at_least else '<='} {result.bar:g}{result.unit}",
            "reached" if result.reached else "MISSED",
        )
        for result in results
    ]
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (heads, *rows))
    return "\n".join(line.rstrip() for line in lines)
