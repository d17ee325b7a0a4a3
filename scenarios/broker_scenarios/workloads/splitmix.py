"""Random numbers by counter: number i of a stream depends on (seed, stream, i) alone, in Python and in Arrow.

So a load is the same whoever computes which part of it, in whatever order: one process or many Spark tasks.
The mixing function is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

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
        """Number `counter`: the plain form, which `at_all` must equal."""
        return mix64((self._start + counter * _GAMMA) & _MASK)

    def at_all(self, counters: pa.Array) -> pa.Array:
        """The numbers at all these counters (int64 or uint64), as uint64."""
        # Arrow's unchecked multiply and add wrap around, as the algorithm needs.
        values = pc.add(pc.multiply(counters.cast(pa.uint64()), _scalar(_GAMMA)), _scalar(self._start))
        values = pc.multiply(_xor_shifted(values, 30), _scalar(_FIRST))
        values = pc.multiply(_xor_shifted(values, 27), _scalar(_SECOND))
        return _xor_shifted(values, 31)

    def below_all(self, counters: pa.Array, limit: int) -> tuple[pa.Array, pa.Array]:
        """Uniform int64 in [0, limit) from the high 32 bits, and the low 32 bits for a second decision."""
        values = self.at_all(counters)
        high = pc.shift_right(values, _scalar(32))
        choice = pc.shift_right(pc.multiply(high, _scalar(limit)), _scalar(32)).cast(pa.int64())
        return choice, pc.bit_wise_and(values, _scalar(_LOW_32)).cast(pa.int64())


def _xor_shifted(values: pa.Array, bits: int) -> pa.Array:
    return pc.bit_wise_xor(values, pc.shift_right(values, _scalar(bits)))


def _scalar(value: int) -> pa.Scalar:
    return pa.scalar(value, pa.uint64())
