"""Offsets by group and partition, as of any snapshot. Mirrors OffsetMetadataManager.Offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.runtime.snapshot_registry import TimelineDict
from protocol_specs.java_hash import string_hash, timeline_order

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
        self._replaced: set[tuple[str, str]] = set()
        """The groups and topics whose last commit was for a partition that had an offset: Kafka's map grows then."""

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
        """Return the offsets of a group as of a snapshot, as Kafka's maps of topics and partitions list them."""
        offsets = self._groups.get_at(group_id, committed_offset)
        if offsets is None:
            return []
        topics: dict[str, list[tuple[TopicPartition, CommittedOffset]]] = {}
        for partition, offset in offsets.at(committed_offset).items():
            topics.setdefault(partition.topic, []).append((partition, offset))
        names = list(topics)
        listed = []
        for place in timeline_order(map(string_hash, names)):
            of_topic = topics[names[place]]
            replaced = (group_id, names[place]) in self._replaced
            indexes = timeline_order((partition.partition for partition, _ in of_topic), replaced=replaced)
            listed += [of_topic[index] for index in indexes]
        return listed

    @property
    def group_ids(self) -> list[str]:
        """The groups that have offsets, as Kafka's map lists them."""
        ids = self._groups.keys()
        return [ids[place] for place in timeline_order(map(string_hash, ids))]

    def put(self, group_id: str, partition: TopicPartition, offset: CommittedOffset) -> None:
        """Set the offset of a partition."""
        offsets = self._groups.get(group_id)
        if offsets is None:
            offsets = self._groups[group_id] = TimelineDict(self._snapshots)
        if partition in offsets:
            self._replaced.add((group_id, partition.topic))
        else:
            self._replaced.discard((group_id, partition.topic))
        offsets[partition] = offset

    def remove(self, group_id: str, partition: TopicPartition) -> None:
        """Remove the offset of a partition; does nothing if there is none."""
        offsets = self._groups.get(group_id)
        if offsets is None:
            return
        offsets.pop(partition)
        self._replaced.discard((group_id, partition.topic))
        if not len(offsets):
            self._groups.pop(group_id)
