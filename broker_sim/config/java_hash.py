"""The order in which Java's hash tables list strings and numbers: it decides which of several faults comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LOAD_FACTOR = 0.75
_SMALLEST_TABLE = 16
_INT32_MASK = (1 << 32) - 1
_INT64_MASK = (1 << 64) - 1


def string_hash(text: str) -> int:
    """String.hashCode, as a signed 32-bit number."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for index in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[index : index + 2], "big")) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def hash_order(texts: Iterable[str], *, beside: int = 0) -> list[str]:
    """Different strings as a HashMap that grew with them lists its keys; equal buckets keep the given order.

    `beside` is how many other keys are in the table.
    """
    given = list(texts)
    return _ordered(given, _table_size(len(given) + beside))


def hash_order_of_copy(texts: Iterable[str], last: str) -> list[str]:
    """Different strings as a HashMap lists them that was made of another one, before `last` was put into it."""
    given = list(texts)
    fitting = int(len(given) / _LOAD_FACTOR) + 1
    table = 1 << (fitting - 1).bit_length()
    if len(given) + 1 > table * _LOAD_FACTOR:
        table *= 2
    return _ordered([*given, last], table)


def _ordered(given: list[str], table: int) -> list[str]:
    def bucket(text: str) -> int:
        return _bucket(string_hash(text) & _INT32_MASK, table)

    return sorted(given, key=bucket)


def hash_order_of_longs(numbers: Iterable[int]) -> list[int]:
    """Different 64-bit numbers as a HashMap that grew with them lists its keys; equal buckets keep the given order."""
    given = list(numbers)
    table = _table_size(len(given))

    def bucket(number: int) -> int:
        return _bucket((number ^ (number & _INT64_MASK) >> 32) & _INT32_MASK, table)

    return sorted(given, key=bucket)


def _table_size(entries: int) -> int:
    table = _SMALLEST_TABLE
    while entries > table * _LOAD_FACTOR:
        table *= 2
    return table


def _bucket(value: int, table: int) -> int:
    return (value ^ value >> 16) & (table - 1)
