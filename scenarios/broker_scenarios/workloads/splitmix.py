"""Random numbers by counter: number i of a stream depends on (seed, stream, i) alone.

A load is therefore the same for one process and for many Spark tasks that compute parts of it in any order. The mixing
function is the finalizer of SplitMix64 (Steele, Lea, Flood 2014). Each function takes one number, or numpy's uint64
numbers, whose arithmetic is modulo 2**64 as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CounterStream", "mix64"]

_MASK: Final = 2**64 - 1
_GAMMA: Final = 0x9E3779B97F4A7C15
_FIRST: Final = 0xBF58476D1CE4E5B9
_SECOND: Final = 0x94D049BB133111EB
_LOW_32: Final = 2**32 - 1
Numbers = TypeVar("Numbers", int, "NDArray[np.uint64]")


def mix64(number: Numbers) -> Numbers:
    """Spread the bits of a 64-bit number."""
    value: Any = number
    value = ((value ^ (value >> 30)) * _FIRST) & _MASK
    value = ((value ^ (value >> 27)) * _SECOND) & _MASK
    mixed: Numbers = value ^ (value >> 31)
    return mixed


class CounterStream:
    """One stream of uniform 64-bit numbers, addressed by counter."""

    def __init__(self, seed: int, stream: int) -> None:
        self._start = mix64((seed & _MASK) ^ mix64((stream * _GAMMA) & _MASK))

    def at(self, counter: Numbers) -> Numbers:
        """Return number `counter` of the stream."""
        place: Numbers = (self._start + counter * _GAMMA) & _MASK  # type: ignore[assignment]
        return mix64(place)

    def below(self, counter: Numbers, limit: int) -> tuple[Numbers, Numbers]:
        """Return a uniform number in [0, limit) from the high 32 bits, and the low 32 bits for a second decision."""
        value: Any = self.at(counter)
        return ((value >> 32) * limit) >> 32, value & _LOW_32
