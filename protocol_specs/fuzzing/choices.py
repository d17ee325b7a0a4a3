"""Sources of choices: what makes valid input and mutates it draws from one, a seeded stream or Hypothesis.

The first option of each choice is the simplest, because Hypothesis shrinks towards it.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

T = TypeVar("T")

_TEXTS: Final = ("", "a", "orders", "topic-7", "группа", "主題", "\U0001f600")
_FLOATS: Final = (0.0, 1.5, -1.0, 1e300, float("inf"))
_SMALL: Final = 12


class Choices(Protocol):
    """A source of choices."""

    def happens(self, probability: float) -> bool:
        """True with that probability; False is the simpler outcome."""

    def below(self, stop: int) -> int:
        """A number from 0 to `stop` - 1, each as probable as the others; 0 if `stop` is 0."""

    def integer(self, low: int, high: int) -> int:
        """A number from `low` to `high`; small numbers and the bounds are more probable."""

    def one_of(self, options: Sequence[T]) -> T:
        """One of several options."""

    def list_of(self, make: Callable[[], T], length_max: int, probability: float) -> list[T]:
        """A list of what `make` returns; `probability` is that of one more element."""

    def data(self, length_max: int, length_min: int = 0) -> bytes:
        """Random bytes."""

    def text(self, length_max: int) -> str:
        """Text of at most `length_max` characters."""

    def real(self) -> float:
        """A float64."""


class SeededChoices:
    """Choices from a random stream, which is what a campaign of millions of frames needs."""

    __slots__ = ("random",)

    def __init__(self, random: Random) -> None:
        self.random = random

    def happens(self, probability: float) -> bool:
        """True with that probability."""
        return self.random.random() < probability

    def below(self, stop: int) -> int:
        """A number from 0 to `stop` - 1; 0 if `stop` is 0."""
        return int(self.random.random() * stop)

    def integer(self, low: int, high: int) -> int:
        """A number of the range: three in five are near 0, three in twenty at a bound."""
        kind = self.random.random()
        if kind < 0.6:
            return min(max(int(self.random.random() * _SMALL) - (kind < 0.2), low), high)
        if kind < 0.75:
            return self.one_of((low, min(low + 1, high), max(high - 1, low), high))
        return self.random.randint(low, high)

    def one_of(self, options: Sequence[T]) -> T:
        """One of several options."""
        return options[int(self.random.random() * len(options))]

    def list_of(self, make: Callable[[], T], length_max: int, probability: float) -> list[T]:
        """A list of what `make` returns."""
        made: list[T] = []
        while len(made) < length_max and self.random.random() < probability:
            made.append(make())
        return made

    def data(self, length_max: int, length_min: int = 0) -> bytes:
        """Random bytes."""
        return self.random.randbytes(length_min + int(self.random.random() * (length_max - length_min + 1)))

    def text(self, length_max: int) -> str:
        """One of a few texts, of one to four bytes per character."""
        return self.one_of(_TEXTS)[:length_max]

    def real(self) -> float:
        """A usual number or any, NaN included."""
        if self.happens(0.5):
            return self.one_of(_FLOATS)
        value: float = struct.unpack(">d", self.random.randbytes(8))[0]
        return value
