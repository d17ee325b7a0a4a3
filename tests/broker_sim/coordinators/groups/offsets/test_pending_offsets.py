from __future__ import annotations

from broker_sim.coordinators.groups.offsets.committed_offset import CommittedOffset
from broker_sim.coordinators.groups.offsets.pending_offsets import PendingOffsets
from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry
from broker_sim.topic_partition import TopicPartition

PARTITION = TopicPartition("orders", 0)
OFFSET = CommittedOffset(1, -1, "", 0)


def test_the_offsets_of_a_producer_end_with_its_transaction_alone() -> None:
    pending = PendingOffsets(SnapshotRegistry())
    pending.put(4, "g", PARTITION, OFFSET)
    pending.put(5, "g", PARTITION, OFFSET)
    assert pending.end(4) == [("g", PARTITION, OFFSET)]
    assert pending.has_offset("g", PARTITION)
    assert pending.end(5) == [("g", PARTITION, OFFSET)]
    assert not pending.has_transaction("g")
    assert pending.end(5) == []


def test_removed_offsets_leave_the_transaction_open() -> None:
    pending = PendingOffsets(SnapshotRegistry())
    pending.put(4, "g", PARTITION, OFFSET)
    pending.remove("g", PARTITION)
    assert (pending.partitions_of("g"), pending.has_transaction("g"), pending.group_ids) == ([], True, ["g"])
