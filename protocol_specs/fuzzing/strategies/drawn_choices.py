"""Choices that Hypothesis draws and shrinks."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeVar

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

T = TypeVar("T")

_NOTHING: Final = st.none()
_BOOLEANS: Final = st.booleans()
_REALS: Final = st.floats(allow_nan=False)
_integers: Final = lru_cache(maxsize=1024)(st.integers)
_binary: Final = lru_cache(maxsize=256)(st.binary)


@lru_cache(maxsize=16)
def _text(length_max: int) -> SearchStrategy[str]:
    return st.text(st.characters(codec="utf-8"), max_size=length_max)


class DrawnChoices:
    """Choices of one draw of a composite strategy; see `Choices`."""

    __slots__ = ("draw",)

    def __init__(self, draw: DrawFn) -> None:
        self.draw = draw

    def happens(self, probability: float) -> bool:
        """True if it happens; Hypothesis does not need the probability."""
        del probability
        return self.draw(_BOOLEANS)

    def below(self, stop: int) -> int:
        """A number from 0 to `stop` - 1; 0 if `stop` is 0."""
        return self.draw(_integers(0, max(0, stop - 1)))

    def integer(self, low: int, high: int) -> int:
        """A number from `low` to `high`."""
        return self.draw(_integers(low, high))

    def one_of(self, options: Sequence[T]) -> T:
        """One of several options."""
        return options[self.below(len(options))]

    def list_of(self, make: Callable[[], T], length_max: int, probability: float) -> list[T]:
        """A list of what `make` returns; Hypothesis shrinks it by leaving elements out."""
        del probability
        return self.draw(st.lists(_NOTHING.map(lambda _: make()), max_size=length_max))

    def data(self, length_max: int, length_min: int = 0) -> bytes:
        """Random bytes."""
        return self.draw(_binary(min_size=length_min, max_size=length_max))

    def text(self, length_max: int) -> str:
        """Text of at most `length_max` characters."""
        return self.draw(_text(length_max))

    def real(self) -> float:
        """A float64, but not NaN."""
        return self.draw(_REALS)
