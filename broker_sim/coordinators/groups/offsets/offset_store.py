"""Offsets by group and partition, as of any snapshot. Mirrors OffsetMetadataManager.Offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.runtime.snapshot_registry import TimelineDict

if TYPE_CHECKING:
    from broker_sim.coordinators.groups.offsets.committed_offset import CommittedOffset
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry
    from broker_sim.topic_partition import TopicPartition

__all__ = ["OffsetStore"]


class OffsetStore:
    """Committed offsets; a group without offsets takes no memory."""

    def __init__(self, snapshots: SnapshotRegistry) -> None:
        self._snapshots = snapshots
        self._groups: TimelineDict[str, TimelineDict[TopicPartition, CommittedOffset]] = TimelineDict(snapshots)

    def get(self, group_id: str, partition: TopicPartition) -> CommittedOffset | None:
        """Return the newest offset of a partition, None if there is none."""
        offsets = self._groups.get(group_id)
        return None if offsets is None else offsets.get(partition)

    def get_at(self, group_id: str, partition: TopicPartition, committed_offset: int) -> CommittedOffset | None:
        """Return the offset of a partition as of a snapshot."""
        offsets = self._groups.get_at(group_id, committed_offset)
        return None if offsets is None else offsets.get_at(partition, committed_offset)

    def of_group(self, group_id: str) -> list[tuple[TopicPartition, CommittedOffset]]:
        """Return the newest offsets of a group."""
        offsets = self._groups.get(group_id)
        return [] if offsets is None else offsets.items()

    def of_group_at(self, group_id: str, committed_offset: int) -> list[tuple[TopicPartition, CommittedOffset]]:
        """Return the offsets of a group as of a snapshot."""
        offsets = self._groups.get_at(group_id, committed_offset)
        return [] if offsets is None else list(offsets.at(committed_offset).items())

    @property
    def group_ids(self) -> list[str]:
        """The groups that have offsets."""
        return self._groups.keys()

    def put(self, group_id: str, partition: TopicPartition, offset: CommittedOffset) -> None:
        """Set the offset of a partition."""
        offsets = self._groups.get(group_id)
        if offsets is None:
            offsets = self._groups[group_id] = TimelineDict(self._snapshots)
        offsets[partition] = offset

    def remove(self, group_id: str, partition: TopicPartition) -> None:
        """Remove the offset of a partition; does nothing if there is none."""
        offsets = self._groups.get(group_id)
        if offsets is None:
            return
        offsets.pop(partition)
        if not len(offsets):
            self._groups.pop(group_id)
