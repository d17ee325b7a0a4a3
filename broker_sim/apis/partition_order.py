"""The order in which responses list partitions that Kafka keeps in hash tables.

Kafka collects the results of partitions in Scala's maps, keyed by TopicPartition or TopicIdPartition, and groups
them by topic in the end. A mutable map lists its keys by their hashes; so does an immutable one of more than four.

Handlers call these functions themselves. A stage that orders finished responses could not: the order depends on data
that a response does not have. Produce and DeleteRecords list by which map a result came from (metadata, validation or
log), DescribeLogDirs by the logs that it leaves out, Metadata orders names before it looks them up, and an error
response of a whole request keeps the request's order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from protocol_specs.java_hash import hash_set_order, immutable_set_order, string_hash, topic_partition_hash, uuid_hash
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = [
    "grouped_by_topic",
    "grouped_from_immutable",
    "immutable_order",
    "mutable_order",
    "partition_hash",
]

T = TypeVar("T")

K = TypeVar("K", bound=tuple[str, int])
"""A topic's name and the number of a partition."""

MANY: Final = 5
"""An immutable map of this size is a trie; a subset of it stays one."""


def partition_hash(key: tuple[str, int]) -> int:
    """TopicPartition.hashCode of a topic and a partition, as an unsigned 32-bit number."""
    return topic_partition_hash(*key)


def partition_hash_with_id(key: tuple[str, int], topic_id: bytes = ZERO_UUID) -> int:
    """TopicIdPartition.hashCode, but for its overflow."""
    return 31 * (31 + uuid_hash(topic_id)) + partition_hash(key)


def mutable_order(items: Sequence[T], hash_of: Callable[[T], int]) -> list[T]:
    """Return items as a mutable map lists them."""
    return [items[place] for place in hash_set_order(map(hash_of, items))]


def immutable_order(items: Sequence[T], hash_of: Callable[[T], int]) -> list[T]:
    """Return items as an immutable map lists them."""
    return [items[place] for place in immutable_set_order(map(hash_of, items))]


def grouped_by_topic(keys: Iterable[K]) -> dict[str, list[K]]:
    """Return the result of `groupBy` on a mutable map: topics as a trie lists them, partitions by their hashes."""
    return {name: mutable_order(group, partition_hash) for name, group in _grouped(keys)}


def grouped_from_immutable(keys: Sequence[K]) -> dict[str, list[K]]:
    """Return the result of `groupBy` on an immutable map of these keys, added in this order."""
    was = len(keys)
    ordered = immutable_order(keys, partition_hash)
    return {
        name: [group[place] for place in immutable_set_order(map(partition_hash, group), was=was)]
        for name, group in _grouped(ordered)
    }


def _grouped(keys: Iterable[K]) -> list[tuple[str, list[K]]]:
    groups: dict[str, list[K]] = {}
    for key in keys:
        groups.setdefault(key[0], []).append(key)
    names = list(groups)
    return [(names[place], groups[names[place]]) for place in immutable_set_order(map(string_hash, names), was=MANY)]
