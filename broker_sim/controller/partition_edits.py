"""Many changes to partitions in one operation, each made from the image before it. Mirrors PartitionChangeRecords.

The records of one operation do not see each other. A partition that is named twice is changed twice, from the same
image: each record is an epoch of its own, and where two records set the same field the later one wins.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Final

from broker_sim.metadata.metadata_image import PartitionRegistration

if TYPE_CHECKING:
    from broker_sim.controller.election import PartitionChange
    from broker_sim.metadata.metadata_image import MetadataImage
    from broker_sim.topic_partition import TopicPartition

_COUNTED: Final = frozenset({"leader_epoch", "partition_epoch"})


class PartitionEdits:
    """The changes of one operation: `changes` to commit, and the partitions with an unclean election."""

    __slots__ = ("_image", "changes", "unclean")

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self.changes: dict[TopicPartition, PartitionRegistration] = {}
        self.unclean: list[TopicPartition] = []

    def add(self, topic_partition: TopicPartition, change: PartitionChange) -> None:
        """Put one change behind those before it."""
        if change.unclean:
            self.unclean.append(topic_partition)
        before = self._image.topics[topic_partition.topic].partitions[topic_partition.partition]
        merged = self.changes.get(topic_partition)
        self.changes[topic_partition] = (
            change.registration if merged is None else _merged(before, merged, change.registration)
        )


def _merged(
    before: PartitionRegistration, merged: PartitionRegistration, after: PartitionRegistration
) -> PartitionRegistration:
    changed = {
        each.name: getattr(after, each.name)
        for each in fields(PartitionRegistration)
        if each.name not in _COUNTED and getattr(after, each.name) != getattr(before, each.name)
    }
    if after.leader_epoch != before.leader_epoch:
        changed["leader"] = after.leader  # a record that raises the epoch names the leader, even an unchanged one
    return replace(
        merged,
        leader_epoch=merged.leader_epoch + after.leader_epoch - before.leader_epoch,
        partition_epoch=merged.partition_epoch + 1,
        **changed,
    )
