"""The order in which Java's hash tables list strings: it decides which of several faults Kafka finds first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LOAD_FACTOR = 0.75
_SMALLEST_TABLE = 16


def string_hash(text: str) -> int:
    """String.hashCode, as a signed 32-bit number."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for index in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[index : index + 2], "big")) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def hash_order(texts: Iterable[str]) -> list[str]:
    """Different strings as a HashMap that grew with them lists its keys; equal buckets keep the given order."""
    given = list(texts)
    table = _SMALLEST_TABLE
    while len(given) > table * _LOAD_FACTOR:
        table *= 2

    def bucket(text: str) -> int:
        value = string_hash(text) & 0xFFFFFFFF
        return (value ^ value >> 16) & (table - 1)

    return sorted(given, key=bucket)
