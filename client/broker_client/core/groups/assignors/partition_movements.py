"""The partitions that a sticky assignment has moved, so that two of a topic never swap owners.

Mirrors AbstractStickyAssignor.PartitionMovements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.core.groups.hash_order import in_hash_order

if TYPE_CHECKING:
    from broker_client.records import TopicPartition

__all__ = ["PartitionMovements"]

_Pair = tuple[str, str]


class PartitionMovements:
    """Pairs are (first owner, newest owner)."""

    def __init__(self) -> None:
        self._by_partition: dict[TopicPartition, _Pair] = {}
        self._by_topic: dict[str, dict[_Pair, dict[TopicPartition, None]]] = {}

    def move(self, key: TopicPartition, old_owner: str, new_owner: str) -> None:
        """Record a move; a partition that returns to its first owner has not moved."""
        first_owner = old_owner
        known = self._by_partition.pop(key, None)
        if known is not None:
            first_owner = known[0]
            of_topic = self._by_topic[key.topic]
            del of_topic[known][key]
            if not of_topic[known]:
                del of_topic[known]
            if first_owner == new_owner:
                return
        pair = (first_owner, new_owner)
        self._by_partition[key] = pair
        self._by_topic.setdefault(key.topic, {}).setdefault(pair, {})[key] = None

    def actual_partition(self, key: TopicPartition, old_owner: str, new_owner: str) -> TopicPartition:
        """Return the partition to move instead: one of the topic that moved the other way, else the given one."""
        of_topic = self._by_topic.get(key.topic)
        if not of_topic:
            return key
        known = self._by_partition.get(key)
        if known is not None:
            old_owner = known[0]
        reverse = of_topic.get((new_owner, old_owner))
        return in_hash_order(reverse)[0] if reverse else key
