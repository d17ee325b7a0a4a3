"""Draws from a weighted choice in constant time: Walker's alias method in whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_scenarios.workloads.splitmix import CounterStream

__all__ = ["AliasTable", "zipf_weights"]

_FULL: Final = 2**32


class AliasTable:
    """A choice among `len(weights)` columns, each with its own weight."""

    def __init__(self, weights: Sequence[float]) -> None:
        count, total = len(weights), sum(weights)
        scaled = [weight * count / total for weight in weights]
        own, alias = [_FULL] * count, list(range(count))
        small = [at for at, share in enumerate(scaled) if share < 1]
        large = [at for at, share in enumerate(scaled) if share >= 1]
        while small and large:
            poor, rich = small.pop(), large[-1]
            own[poor], alias[poor] = round(scaled[poor] * _FULL), rich
            scaled[rich] -= 1 - scaled[poor]
            if scaled[rich] < 1:
                small.append(large.pop())
        self._count = count
        self.own = own
        """The low 32 bits below which a draw stays in its column."""
        self.alias = alias
        """The column of the other draws."""

    def draw(self, stream: CounterStream, counter: int) -> int:
        """Return the index of the choice that belongs to this counter."""
        column, rest = stream.below(counter, self._count)
        return column if rest < self.own[column] else self.alias[column]


def zipf_weights(count: int, exponent: float) -> list[float]:
    """Weights 1/rank**exponent; an exponent of 0 makes all equal."""
    return [rank**-exponent for rank in range(1, count + 1)]
