"""Rounds of our broker and of another one, in turns and in both orders, and the result that they give.

A ratio is the median over all rounds of an order, averaged over the orders in logarithms.
"""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Final

from benchmarks.result import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ORDERS", "PairedRounds", "milliseconds", "records_per_second"]

ORDERS: Final = (1, -1)
"""The first client of a process is some percent slower than the second, with either server."""


class PairedRounds:
    """The figures of all rounds, ours first, and the CPU time of both servers."""

    def __init__(self) -> None:
        self._rounds: dict[int, list[list[float]]] = {order: [] for order in ORDERS}
        self._cpu_us: tuple[list[float], list[float]] = ([], [])

    def add(self, order: int, measured: Sequence[list[float]]) -> None:
        """Add rounds whose figures are in the order of the servers: ours first, or last for order -1."""
        self._rounds[order] += [figures[::order] for figures in measured]

    def add_cpu(self, ours_us: float, other_us: float) -> None:
        """Add the CPU time of both servers per unit, in microseconds."""
        for figures, cpu_us in zip(self._cpu_us, (ours_us, other_us), strict=True):
            figures.append(cpu_us)

    def result(self, name: str, *, target: float, is_time: bool, cpu_unit: str) -> Result:
        """Return the ratio of ours to the other's figure; a time must be at most the target, a rate at least."""
        both = [figures for of_order in self._rounds.values() for figures in of_order]
        ours, others = zip(*both, strict=True)
        # In logarithms, where a ratio and its inverse are the same size.
        ratios = [[math.log(our / their) for our, their in of_order] for of_order in self._rounds.values()]
        ratio = math.exp(statistics.mean(statistics.median(of_order) for of_order in ratios))
        errors = [median_error(of_order) for of_order in ratios]
        show = milliseconds if is_time else records_per_second
        ours_us, other_us = (f"{statistics.median(each):.2f} us CPU/{cpu_unit}" for each in self._cpu_us)
        return Result(
            name=name,
            ours=f"{show(statistics.median(ours))}, {ours_us}",
            other=f"{show(statistics.median(others))}, {other_us}",
            figure=ratio,
            error=ratio * math.hypot(*errors) / len(errors),
            target=target,
            at_least=not is_time,
            unit="x",
        )


def median_error(figures: Sequence[float]) -> float:
    """Return the standard error of the median: half the distance between the figures one deviation of ranks away."""
    ordered, middle, ranks = sorted(figures), len(figures) / 2, math.sqrt(len(figures)) / 2
    return (ordered[min(math.ceil(middle + ranks), len(figures) - 1)] - ordered[math.floor(middle - ranks)]) / 2


def records_per_second(figure: float) -> str:
    """Format a throughput."""
    return f"{figure:,.0f}/s"


def milliseconds(seconds: float) -> str:
    """Format a time."""
    return f"{1000 * seconds:.3f} ms"
