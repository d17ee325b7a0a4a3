"""The order in which the old coordinator removes the offsets of a group. Mirrors the maps of GroupMetadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.java_hash import hash_set_order, immutable_set_order, topic_partition_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.topic_partition import TopicPartition

__all__ = ["kept_order", "removed_order"]


def kept_order(partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Return partitions as the mutable map of a group's offsets lists them."""
    given = list(partitions)
    return [given[place] for place in hash_set_order(_hashes(given))]


def removed_order(partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Return partitions as the immutable map of the removed offsets lists them; they were added in this order."""
    given = list(partitions)
    return [given[place] for place in immutable_set_order(_hashes(given))]


def _hashes(partitions: Iterable[TopicPartition]) -> list[int]:
    return [topic_partition_hash(*partition) for partition in partitions]
