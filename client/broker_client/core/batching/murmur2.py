"""The hash behind keyed partitions. Mirrors Utils.murmur2 and Utils.toPositive (seed 0x9747b28c)."""

from __future__ import annotations

from struct import unpack_from
from typing import Final

__all__ = ["MULTIPLIER", "SEED", "murmur2", "to_positive"]

SEED: Final = 0x9747B28C
MULTIPLIER: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """The hash as an unsigned 32-bit number; Java's is the same bits, signed."""
    length = len(data)
    h = SEED ^ length
    words = length >> 2
    for word in unpack_from(f"<{words}I", data):
        k = (word * MULTIPLIER) & _MASK
        k = ((k ^ (k >> 24)) * MULTIPLIER) & _MASK
        h = ((h * MULTIPLIER) & _MASK) ^ k
    tail = data[words << 2 :]
    if tail:
        h ^= int.from_bytes(tail, "little")
        h = (h * MULTIPLIER) & _MASK
    h = ((h ^ (h >> 13)) * MULTIPLIER) & _MASK
    return h ^ (h >> 15)


def to_positive(number: int) -> int:
    """The number without its sign bit, which is not its absolute value."""
    return number & 0x7FFFFFFF
