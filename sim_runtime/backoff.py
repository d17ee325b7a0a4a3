"""Growing pauses between attempts. Mirrors ExponentialBackoff (KIP-580)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

__all__ = ["ExponentialBackoff"]


class ExponentialBackoff:
    """`initial_ms * multiplier ** attempts * (1 ± jitter)`, never above `max_ms`; all in milliseconds."""

    __slots__ = ("_exponent_max", "_random", "initial_ms", "jitter", "max_ms", "multiplier")

    def __init__(
        self, initial_ms: float, max_ms: float, multiplier: float, jitter: float, random: random.Random
    ) -> None:
        if not 0 <= jitter <= 1:
            raise ValueError(f"jitter must be between 0 and 1, not {jitter}")
        self.initial_ms = min(initial_ms, max_ms)
        self.max_ms = max_ms
        self.multiplier = multiplier
        self.jitter = jitter
        self._random = random
        self._exponent_max = (
            math.log(max_ms / max(initial_ms, 1)) / math.log(multiplier) if max_ms > initial_ms else 0.0
        )

    def backoff_ms(self, attempts: int) -> int:
        """The pause after `attempts` failed attempts; the first is attempt 0. Draws once when there is jitter."""
        if self._exponent_max == 0:
            return int(self.initial_ms)  # constant, and without jitter, as in Kafka
        term: float = self.initial_ms * self.multiplier ** min(float(attempts), self._exponent_max)
        if self.jitter > 0:
            term *= self._random.uniform(1 - self.jitter, 1 + self.jitter)
        return int(min(term, self.max_ms))
