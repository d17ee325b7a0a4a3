"""The orders in which a coordinator lists the partitions of a transaction: those of Java's and of Scala's sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.java_hash import (
    SMALLEST_TRIE,
    hash_order,
    hash_order_by,
    hash_set_order,
    immutable_set_order,
    string_hash,
    topic_partition_hash,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.topic_partition import TopicPartition

__all__ = ["by_topic", "in_set_order"]


def in_set_order(partitions: Iterable[TopicPartition], *, java: bool, copied: int = 0) -> list[TopicPartition]:
    """Return partitions in the order of the set that a coordinator keeps them in: Java's, or Scala's mutable one.

    `copied` is the number of partitions from which a set of Scala was made at once, 0 for one that has grown.
    """
    given = list(partitions)
    if len(given) < 2:
        return given
    if java:
        return hash_order_by(given, _hash)
    return [given[place] for place in hash_set_order(map(_hash, given), copied=copied)]


def by_topic(partitions: Iterable[TopicPartition], *, java: bool, copied: int = 0) -> list[tuple[str, list[int]]]:
    """Return topics and their partitions in the order in which a record lists them.

    Scala's immutable sets of up to four elements keep the order in which they were made; larger ones, and the sets into
    which they are grouped, are tries.
    """
    topics: dict[str, list[int]] = {}
    ordered = in_set_order(partitions, java=java, copied=copied)
    for topic, index in ordered:
        topics.setdefault(topic, []).append(index)
    if len(topics) < 2 and len(ordered) < SMALLEST_TRIE:
        return list(topics.items())
    if java:
        # Java's grouping puts a new topic before the others of its bucket (HashMap.computeIfAbsent).
        return [(topic, topics[topic]) for topic in hash_order(reversed(topics))]
    if len(ordered) >= SMALLEST_TRIE:
        topics = {topic: [indexes[place] for place in _in_trie(indexes)] for topic, indexes in topics.items()}
    names = list(topics)
    return [(names[place], topics[names[place]]) for place in _in_trie(map(string_hash, names))]


def _in_trie(hashes: Iterable[int]) -> list[int]:
    return immutable_set_order(hashes, was=SMALLEST_TRIE)


def _hash(partition: TopicPartition) -> int:
    return topic_partition_hash(*partition)
