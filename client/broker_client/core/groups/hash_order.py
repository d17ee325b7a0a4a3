"""The order in which a Java HashMap iterates, because assignors of Java depend on it.

A leader in Java and one in Python then compute equal assignments, in equal order, from equal subscriptions.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final, TypeVar

from broker_client.records import TopicPartition

__all__ = ["in_hash_order", "string_hash"]

K = TypeVar("K", bound=Hashable)

_MASK: Final = 0xFFFFFFFF
_CAPACITY_MIN: Final = 16
_LOAD_NUMERATOR: Final = 4
_LOAD_DENOMINATOR: Final = 3


def string_hash(text: str) -> int:
    """Return String.hashCode as an unsigned 32-bit number: over UTF-16 code units."""
    result = 0
    for unit in memoryview(text.encode("utf-16-le")).cast("H"):
        result = (31 * result + unit) & _MASK
    return result


def in_hash_order(keys: Iterable[K], *, expected: int = 0) -> list[K]:
    """Return strings or partitions in the order of a HashMap into which they were put in the given order.

    `expected` is the initial capacity, if the map was created with one.
    """
    listed = list(dict.fromkeys(keys))
    capacity = _CAPACITY_MIN
    if expected:
        capacity = 1 << max(expected - 1, 0).bit_length()
    while len(listed) * _LOAD_NUMERATOR > capacity * _LOAD_DENOMINATOR:
        capacity *= 2

    def bucket(key: K) -> int:
        spread = _hash(key)
        return (spread ^ (spread >> 16)) & (capacity - 1)

    return sorted(listed, key=bucket)


def _hash(key: Hashable) -> int:
    if isinstance(key, TopicPartition):
        return (31 * (31 + key.partition) + string_hash(key.topic)) & _MASK
    assert isinstance(key, str), "only strings and partitions are keys"
    return string_hash(key)
