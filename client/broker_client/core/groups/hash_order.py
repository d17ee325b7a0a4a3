"""The order in which a Java HashMap iterates, because assignors of Java depend on it.

A leader in Java and one in Python then compute equal assignments, in equal order, from equal subscriptions.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final, TypeVar

from broker_client.records import TopicPartition
from protocol_specs.java_hash import hash_order_by, string_hash, topic_partition_hash

__all__ = ["in_hash_order"]

K = TypeVar("K", bound=Hashable)

_CAPACITY: Final = 16
"""The initial capacity of a map that was created without one."""


def in_hash_order(keys: Iterable[K], *, expected: int = 0) -> list[K]:
    """Return strings or partitions in the order of a HashMap into which they were put in the given order.

    `expected` is the initial capacity, if the map was created with one.
    """
    return hash_order_by(dict.fromkeys(keys), _hash, capacity=expected or _CAPACITY)


def _hash(key: Hashable) -> int:
    if isinstance(key, TopicPartition):
        return topic_partition_hash(key.topic, key.partition)
    assert isinstance(key, str), "only strings and partitions are keys"
    return string_hash(key)
