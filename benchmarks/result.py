"""Benchmark results: a figure, its target, and the table that `make bench` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

ERRORS_OF_CHANCE: Final = 2
"""Two benchmark runs of equal programs differ by more than this number of standard errors once in twenty times."""
EVEN_SHARE: Final = 0.01
"""A figure that misses its target by more than this share of it is not even with it, with any error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One figure. It must be at least its target (`at_least`) or at most; `error` is the figure's standard error."""

    name: str
    ours: str
    other: str
    figure: float
    target: float
    at_least: bool
    unit: str
    error: float | None = None

    @classmethod
    def at_most(
        cls, name: str, figure: float, target: float, unit: str, *, decimals: int = 2, ours: str | None = None
    ) -> Result:
        """Return a figure that no peer has, which must be at most its target; `ours` is a text in place of it."""
        text = f"{figure:.{decimals}f}{unit}" if ours is None else ours
        return cls(name=name, ours=text, other="", figure=figure, target=target, at_least=False, unit=unit)

    @property
    def reached(self) -> bool:
        """True if the figure meets its target, without regard to its error."""
        return self._short <= 0

    @property
    def verdict(self) -> str:
        """`reached`, `MISSED`, or `even`: short of the target by less than chance and EVEN_SHARE explain."""
        if self.reached:
            return "reached"
        chance = 0 if self.error is None else ERRORS_OF_CHANCE * self.error
        return "even" if self._short < min(chance, EVEN_SHARE * self.target) else "MISSED"

    @property
    def _short(self) -> float:
        return self.target - self.figure if self.at_least else self.figure - self.target

    @property
    def text(self) -> str:
        """The figure with as many decimals as its error justifies."""
        if self.error is None:
            return f"{self.figure:.2f}{self.unit}"
        decimals = 3 if self.error < EVEN_SHARE * self.figure else 2
        return f"{self.figure:.{decimals}f} +- {self.error:.{decimals}f}{self.unit}"


def table(results: list[Result]) -> str:
    """One line per figure; the last column is the verdict."""
    heads = ("benchmark", "ours", "other", "figure", "target", "")
    rows = [
        (
            result.name,
            result.ours,
            result.other,
            result.text,
            f"{'>=' if result.at_least else '<='} {result.target:g}{result.unit}",
            result.verdict,
        )
        for result in results
    ]
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (heads, *rows))
    return "\n".join(line.rstrip() for line in lines)
