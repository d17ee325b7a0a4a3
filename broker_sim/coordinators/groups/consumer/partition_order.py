"""The order of the partitions of a member from 4.3 on, which keeps a java.util.HashMap of them per topic.

`epochs` are the epochs of a member's partitions in the order of its record. A loaded map has grown with the keys of the
record; a step of the reconciliation copies it, removes keys and adds others, and the next record has that order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from broker_sim.coordinators.groups.modern.topic_partitions import NO_PARTITIONS, listed, ordered
from protocol_specs.java_hash import hash_order_by, hash_order_of_changed_map

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions

__all__ = ["Epochs", "changed_order", "equal_epochs", "loaded_order", "recorded_order"]

Epochs: TypeAlias = "Mapping[tuple[bytes, int], int]"


def equal_epochs(assignment: TopicPartitions, epoch: int) -> dict[tuple[bytes, int], int]:
    """Return the same epoch for every partition."""
    return {(topic_id, partition): epoch for topic_id, partitions in ordered(assignment) for partition in partitions}


def recorded_order(assignment: TopicPartitions, epochs: Epochs) -> dict[bytes, list[int]]:
    """Return the partitions of each topic as the record of the member lists them."""
    if not epochs:
        return dict(ordered(assignment))
    found: dict[bytes, list[int]] = {topic_id: [] for topic_id, _ in ordered(assignment)}
    for topic_id, partition in epochs:
        if partition in assignment.get(topic_id, ()):
            found[topic_id].append(partition)
    return found


def loaded_order(assignment: TopicPartitions, epochs: Epochs) -> dict[bytes, list[int]]:
    """Return the partitions of each topic as the member that was made of a record has them."""
    recorded = recorded_order(assignment, epochs)
    return (
        {topic_id: hash_order_by(partitions, int) for topic_id, partitions in recorded.items()} if epochs else recorded
    )


def changed_order(
    before: Mapping[bytes, list[int]], now: TopicPartitions, target: TopicPartitions = NO_PARTITIONS
) -> dict[bytes, list[int]]:
    """Return the partitions of each topic after a step: what was kept of a copy, then what came from the target."""
    found = {}
    for topic_id, partitions in now.items():
        old = before.get(topic_id, [])
        wanted = listed(target.get(topic_id, ()))
        added = [partition for partition in wanted if partition in partitions and partition not in old]
        found[topic_id] = hash_order_of_changed_map(old, partitions, added)
    return found
