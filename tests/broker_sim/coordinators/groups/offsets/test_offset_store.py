from __future__ import annotations

from broker_sim.coordinators.groups.offsets.committed_offset import CommittedOffset
from broker_sim.coordinators.groups.offsets.offset_store import OffsetStore
from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry
from broker_sim.topic_partition import TopicPartition

PARTITION = TopicPartition("orders", 0)


def test_offsets_can_be_read_as_of_a_snapshot_and_reverted() -> None:
    snapshots = SnapshotRegistry()
    store = OffsetStore(snapshots)
    first, second = CommittedOffset(1, -1, "", 0), CommittedOffset(2, -1, "", 0)
    store.put("g", PARTITION, first)
    snapshots.snapshot(10)
    store.put("g", PARTITION, second)
    snapshots.snapshot(20)
    store.remove("g", PARTITION)
    assert (store.get("g", PARTITION), store.group_ids) == (None, [])
    assert [store.get_at("g", PARTITION, offset) for offset in (10, 20)] == [first, second]
    assert store.of_group("g", 20) == [(PARTITION, second)]
    snapshots.revert_to(10)
    assert store.of_group("g") == [(PARTITION, first)]


def partitions_of(store: OffsetStore) -> list[int]:
    return [partition.partition for partition, _ in store.of_group("g")]


def test_offsets_are_listed_as_kafkas_hash_tables_list_them() -> None:
    store = OffsetStore(SnapshotRegistry())
    for index in range(5):
        store.put("g", TopicPartition("orders", index), CommittedOffset(1, -1, "", 0))
    assert partitions_of(store) == [2, 0, 4, 1, 3]
    store.put("g", PARTITION, CommittedOffset(2, -1, "", 0))
    assert partitions_of(store) == [0, 2, 4, 1, 3]


def test_a_table_keeps_its_size_until_its_last_offset_is_removed() -> None:
    store = OffsetStore(SnapshotRegistry())
    for index in range(6):
        store.put("g", TopicPartition("orders", index), CommittedOffset(1, -1, "", 0))
    for index in (1, 3, 4, 5):
        store.remove("g", TopicPartition("orders", index))
    assert partitions_of(store) == [0, 2]
    for index in (0, 2):
        store.remove("g", TopicPartition("orders", index))
    for index in (0, 2):
        store.put("g", TopicPartition("orders", index), CommittedOffset(1, -1, "", 0))
    assert partitions_of(store) == [2, 0]
