"""Offsets by group, topic and partition, as of any snapshot. Mirrors OffsetMetadataManager.Offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.runtime.snapshot_registry import TimelineTable
from broker_sim.topic_partition import TopicPartition
from protocol_specs.java_hash import string_hash

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.offsets.committed_offset import CommittedOffset
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry

__all__ = ["OffsetStore"]


class OffsetStore:
    """Committed offsets; a group without offsets takes no memory. Maps are listed as Kafka's are."""

    def __init__(self, snapshots: SnapshotRegistry) -> None:
        self._snapshots = snapshots
        self._groups: TimelineTable[str, TimelineTable[str, TimelineTable[int, CommittedOffset]]] = TimelineTable(
            snapshots
        )

    def get(self, group_id: str, partition: TopicPartition) -> CommittedOffset | None:
        """Return the newest offset of a partition, None if there is none."""
        topics = self._groups.get(group_id)
        offsets = None if topics is None else topics.get(partition.topic)
        return None if offsets is None else offsets.get(partition.partition)

    def get_at(self, group_id: str, partition: TopicPartition, committed_offset: int) -> CommittedOffset | None:
        """Return the offset of a partition as of a snapshot."""
        topics = self._groups.get_at(group_id, committed_offset)
        offsets = None if topics is None else topics.get_at(partition.topic, committed_offset)
        return None if offsets is None else offsets.get_at(partition.partition, committed_offset)

    def of_group(
        self, group_id: str, committed_offset: int | None = None
    ) -> list[tuple[TopicPartition, CommittedOffset]]:
        """Return the offsets of a group, as of a snapshot if an offset is given."""
        topics = (
            self._groups.get(group_id) if committed_offset is None else self._groups.get_at(group_id, committed_offset)
        )
        if topics is None:
            return []
        return [
            (TopicPartition(topic, index), offset)
            for topic, offsets in topics.listed(string_hash, committed_offset)
            for index, offset in offsets.listed(_integer_hash, committed_offset)
        ]

    @property
    def group_ids(self) -> list[str]:
        """The groups that have offsets."""
        return [group_id for group_id, _ in self._groups.listed(string_hash)]

    def put(self, group_id: str, partition: tuple[str, int], offset: CommittedOffset) -> None:
        """Set the offset of a partition, a TopicPartition or its topic and index."""
        topic, index = partition
        topics = self._groups.get(group_id)
        if topics is None:
            topics = self._groups[group_id] = TimelineTable(self._snapshots)
        offsets = topics.get(topic)
        if offsets is None:
            offsets = topics[topic] = TimelineTable(self._snapshots)
        offsets[index] = offset

    def remove(self, group_id: str, partition: TopicPartition) -> None:
        """Remove the offset of a partition; does nothing if there is none."""
        topics = self._groups.get(group_id)
        offsets = None if topics is None else topics.get(partition.topic)
        if topics is None or offsets is None:
            return
        offsets.pop(partition.partition)
        if not len(offsets):
            topics.pop(partition.topic)
        if not len(topics):
            self._groups.pop(group_id)


def _integer_hash(number: int) -> int:
    """Integer.hashCode."""
    return number
