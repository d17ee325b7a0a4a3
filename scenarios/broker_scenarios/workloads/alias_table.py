"""Draws from a weighted choice in constant time: Walker's alias method in whole numbers, over Arrow arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

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
        self._own = pa.array(own, pa.int64())
        self._alias = pa.array(alias, pa.int64())

    def draw(self, stream: CounterStream, counters: pa.Array) -> pa.Array:
        """The choices that belong to these counters, as int64 indices."""
        column, rest = stream.below_all(counters, self._count)
        keeps = pc.less(rest, pc.take(self._own, column))
        return pc.if_else(keeps, column, pc.take(self._alias, column))


def zipf_weights(count: int, exponent: float) -> list[float]:
    """Weights 1/rank**exponent; an exponent of 0 makes all equal."""
    return [rank**-exponent for rank in range(1, count + 1)]
