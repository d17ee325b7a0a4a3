"""The offset below which a partition of `__share_group_state` has no record in use.

Mirrors ShareCoordinatorOffsetsManager.

A snapshot makes all earlier records of its share partition redundant. The records before the oldest of the newest
snapshots can be deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.runtime.snapshot_registry import TimelineDict

if TYPE_CHECKING:
    from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry
    from broker_sim.coordinators.share.share_partition_key import SharePartitionKey

__all__ = ["RedundantOffsets"]

_OFFSET: Final = "last redundant offset"


class RedundantOffsets:
    """The offset of the newest snapshot per share partition."""

    def __init__(self, snapshots: SnapshotRegistry) -> None:
        self._offsets: TimelineDict[SharePartitionKey, int] = TimelineDict(snapshots)
        self._last_redundant: TimelineDict[str, int] = TimelineDict(snapshots)

    def snapshot_replayed(self, key: SharePartitionKey, offset: int, *, deleted: bool) -> None:
        """Note the offset of a snapshot, or of the tombstone of one."""
        self._offsets[key] = offset
        self._last_redundant[_OFFSET] = min(self._offsets.values())
        if deleted:
            # Nothing after the tombstone changes this share partition, so it holds back no deletion.
            self._offsets.pop(key)

    @property
    def last_redundant(self) -> int | None:
        """The offset before which records can be deleted, None if there is nothing to delete."""
        offset = self._last_redundant.get(_OFFSET)
        return offset if offset is not None and offset > 0 else None
