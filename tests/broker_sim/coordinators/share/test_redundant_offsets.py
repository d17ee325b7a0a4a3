from __future__ import annotations

from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry
from broker_sim.coordinators.share.redundant_offsets import RedundantOffsets
from broker_sim.coordinators.share.share_partition_key import SharePartitionKey


def key(partition: int) -> SharePartitionKey:
    return SharePartitionKey("g", bytes(16), partition)


def test_the_oldest_of_the_newest_snapshots_is_the_limit() -> None:
    redundant = RedundantOffsets(SnapshotRegistry())
    assert redundant.last_redundant is None
    redundant.snapshot_replayed(key(0), 0, deleted=False)
    redundant.snapshot_replayed(key(1), 1, deleted=False)
    assert redundant.last_redundant is None
    redundant.snapshot_replayed(key(0), 5, deleted=False)
    assert redundant.last_redundant == 1
    redundant.snapshot_replayed(key(1), 9, deleted=True)
    assert redundant.last_redundant == 5
    redundant.snapshot_replayed(key(0), 12, deleted=False)
    assert redundant.last_redundant == 12
