"""The owners of the partitions of a consumer group. Mirrors currentPartitionEpoch of ConsumerGroup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.groups.modern.topic_partitions import NO_PARTITIONS, each_partition
from broker_sim.coordinators.runtime.snapshot_registry import TimelineDict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_sim.coordinators.groups.consumer.consumer_member import ConsumerMember
    from broker_sim.coordinators.groups.modern.topic_partitions import TopicPartitions
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry

__all__ = ["PartitionEpochs", "PreviewPartitionEpochs"]


class PartitionEpochs:
    """The epoch of the member that has a partition, or has not revoked it yet."""

    def __init__(self, snapshots: SnapshotRegistry) -> None:
        self._epochs: TimelineDict[tuple[bytes, int], int] = TimelineDict(snapshots)

    def is_free(self, topic_id: bytes, partition: int) -> bool:
        """Return True if no member has the partition or must still revoke it."""
        return (topic_id, partition) not in self._epochs

    def change_member(self, old: ConsumerMember | None, new: ConsumerMember | None) -> None:
        """Replace the partitions of a member; those that another member has taken with its own epoch stay."""
        if old is not None:
            for partition in _partitions_of(old):
                if self._epochs.get(partition) == old.member_epoch:
                    self._epochs.pop(partition)
        if new is not None:
            for partition in _partitions_of(new):
                self._epochs[partition] = new.member_epoch


class PreviewPartitionEpochs(PartitionEpochs):
    """Those of 3.7's preview: what a member no longer has is free, even if another member has taken it.

    So are partitions that a member was to revoke and is assigned again: they are added before they are removed.
    """

    def change_member(self, old: ConsumerMember | None, new: ConsumerMember | None) -> None:
        """Replace the assigned partitions where they changed, then those to revoke."""
        epoch = 0 if new is None else new.member_epoch
        self._replace(_assigned(old), _assigned(new), epoch)
        self._replace(_pending_revocation(old), _pending_revocation(new), epoch)

    def _replace(self, before: TopicPartitions, after: TopicPartitions, epoch: int) -> None:
        if before == after:
            return
        for partition in each_partition(before):
            if partition in self._epochs:
                self._epochs.pop(partition)
        for partition in each_partition(after):
            self._epochs[partition] = epoch


def _assigned(member: ConsumerMember | None) -> TopicPartitions:
    return NO_PARTITIONS if member is None else member.assigned


def _pending_revocation(member: ConsumerMember | None) -> TopicPartitions:
    return NO_PARTITIONS if member is None else member.pending_revocation


def _partitions_of(member: ConsumerMember) -> Iterator[tuple[bytes, int]]:
    yield from each_partition(member.assigned)
    yield from each_partition(member.pending_revocation)
