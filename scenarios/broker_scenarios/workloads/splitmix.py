"""Random numbers by counter: number i of a stream depends on (seed, stream, i) alone.

A load is therefore the same for one process and for many Spark tasks that compute parts of it in any order. The mixing
function is the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
"""

from __future__ import annotations

from typing import Final

__all__ = ["CounterStream", "mix64"]

_MASK: Final = 2**64 - 1
_GAMMA: Final = 0x9E3779B97F4A7C15
_FIRST: Final = 0xBF58476D1CE4E5B9
_SECOND: Final = 0x94D049BB133111EB
_LOW_32: Final = 2**32 - 1


def mix64(value: int) -> int:
    """Spread the bits of a 64-bit number."""
    value = ((value ^ (value >> 30)) * _FIRST) & _MASK
    value = ((value ^ (value >> 27)) * _SECOND) & _MASK
    return value ^ (value >> 31)


class CounterStream:
    """One stream of uniform 64-bit numbers, addressed by counter."""

    def __init__(self, seed: int, stream: int) -> None:
        self._start = mix64((seed & _MASK) ^ mix64((stream * _GAMMA) & _MASK))

    def at(self, counter: int) -> int:
        """Return number `counter` of the stream."""
        return mix64((self._start + counter * _GAMMA) & _MASK)

    def below(self, counter: int, limit: int) -> tuple[int, int]:
        """Return a uniform number in [0, limit) from the high 32 bits, and the low 32 bits for a second decision."""
        value = self.at(counter)
        return ((value >> 32) * limit) >> 32, value & _LOW_32
