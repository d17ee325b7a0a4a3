"""The offsets of open transactions, by producer id. Mirrors pendingTransactionalOffsets and openTransactionsByGroup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.groups.offsets.offset_store import OffsetStore
from broker_sim.coordinators.runtime.snapshot_registry import TimelineDict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.coordinators.groups.offsets.committed_offset import CommittedOffset
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry
    from broker_sim.topic_partition import TopicPartition

__all__ = ["PendingOffsets"]


class PendingOffsets:
    """Offsets that count when the transaction of their producer commits.

    Unless they are `known_to_groups`, as in 3.7's preview of the new coordinator, only the end of a transaction finds
    them.
    """

    def __init__(self, snapshots: SnapshotRegistry, *, known_to_groups: bool = True) -> None:
        self._snapshots = snapshots
        self._known_to_groups = known_to_groups
        self._by_producer: TimelineDict[int, OffsetStore] = TimelineDict(snapshots)
        self._producers_of_group: TimelineDict[str, tuple[int, ...]] = TimelineDict(snapshots)

    def put(self, producer_id: int, group_id: str, partition: TopicPartition, offset: CommittedOffset) -> None:
        """Keep the offset until the transaction ends."""
        store = self._by_producer.get(producer_id)
        if store is None:
            store = self._by_producer[producer_id] = OffsetStore(self._snapshots)
        store.put(group_id, partition, offset)
        producers = self._producers(group_id)
        if self._known_to_groups and producer_id not in producers:
            self._producers_of_group[group_id] = (*producers, producer_id)

    def has_transaction(self, group_id: str) -> bool:
        """Return True if a transaction with offsets of the group is open."""
        return group_id in self._producers_of_group

    def has_producer(self, producer_id: int) -> bool:
        """Return True if a transaction of the producer is open."""
        return producer_id in self._by_producer

    def has_offset(self, group_id: str, partition: TopicPartition) -> bool:
        """Return True if an open transaction has an offset of the partition."""
        return any(store.get(group_id, partition) is not None for store in self._stores(group_id))

    def partitions_of(self, group_id: str) -> list[TopicPartition]:
        """Return the partitions of a group with pending offsets, each once."""
        return list(
            dict.fromkeys(partition for store in self._stores(group_id) for partition, _ in store.of_group(group_id))
        )

    @property
    def group_ids(self) -> list[str]:
        """The groups of open transactions."""
        return self._producers_of_group.keys()

    def remove(self, group_id: str, partition: TopicPartition) -> None:
        """Drop the pending offsets of a partition."""
        for store in self._stores(group_id):
            store.remove(group_id, partition)

    def fail(self, producer_id: int, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        """Drop what a producer has committed for partitions; its transaction is no longer open if nothing is left.

        Mirrors GroupMetadata.failPendingTxnOffsetCommit.
        """
        store = self._by_producer.get(producer_id)
        if store is None:
            return
        for partition in partitions:
            store.remove(group_id, partition)
        if not store.of_group(group_id):
            self._close(producer_id, group_id)

    def end(self, producer_id: int) -> list[tuple[str, TopicPartition, CommittedOffset]]:
        """End a producer's transaction; return its groups, partitions and offsets."""
        store = self._by_producer.pop(producer_id)
        if store is None:
            return []
        for group_id in self.group_ids:
            self._close(producer_id, group_id)
        return [(group_id, *each) for group_id in store.group_ids for each in store.of_group(group_id)]

    def _close(self, producer_id: int, group_id: str) -> None:
        """Forget that a transaction of the producer has offsets of the group."""
        producers = self._producers(group_id)
        left = tuple(each for each in producers if each != producer_id)
        if not left:
            self._producers_of_group.pop(group_id)
        elif left != producers:
            self._producers_of_group[group_id] = left

    def _producers(self, group_id: str) -> tuple[int, ...]:
        return self._producers_of_group.get(group_id) or ()

    def _stores(self, group_id: str) -> list[OffsetStore]:
        stores = [self._by_producer.get(producer_id) for producer_id in self._producers(group_id)]
        return [store for store in stores if store is not None]
