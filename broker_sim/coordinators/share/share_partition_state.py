"""The stored state of one share partition, and its records. Mirrors ShareGroupOffset and ShareCoordinatorRecordHelpers.

A ShareSnapshot has the whole state; a ShareUpdate has the changes since the snapshot of the same snapshot epoch. A
tombstone of a snapshot deletes the state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
from broker_sim.coordinators.share.state_batches import StateBatch, combined
from protocol_specs.schemas.coordinator import share_snapshot, share_update

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.coordinators.share.share_partition_key import SharePartitionKey

__all__ = ["SharePartitionState", "batches_of", "tombstone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharePartitionState:
    """The state as of one record."""

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    state_batches: tuple[StateBatch, ...] = ()
    create_timestamp: int = 0
    write_timestamp: int = 0

    @classmethod
    def of_snapshot(cls, value: share_snapshot.ShareSnapshotValue) -> SharePartitionState:
        """Return the state of a ShareSnapshot."""
        return cls(
            snapshot_epoch=value.snapshot_epoch,
            state_epoch=value.state_epoch,
            leader_epoch=value.leader_epoch,
            start_offset=value.start_offset,
            delivery_complete_count=value.delivery_complete_count,
            state_batches=batches_of(value.state_batches),
            create_timestamp=value.create_timestamp,
            write_timestamp=value.write_timestamp,
        )

    @classmethod
    def of_lone_update(cls, value: share_update.ShareUpdateValue) -> SharePartitionState:
        """Return the state of a ShareUpdate whose snapshot is not in the log."""
        return cls(
            snapshot_epoch=value.snapshot_epoch,
            state_epoch=0,
            leader_epoch=value.leader_epoch,
            start_offset=value.start_offset,
            delivery_complete_count=value.delivery_complete_count,
            state_batches=batches_of(value.state_batches),
        )

    def updated(self, value: share_update.ShareUpdateValue) -> SharePartitionState:
        """Return the state after a ShareUpdate."""
        start_offset = self.start_offset if value.start_offset == -1 else value.start_offset
        return replace(
            self,
            start_offset=start_offset,
            leader_epoch=self.leader_epoch if value.leader_epoch == -1 else value.leader_epoch,
            delivery_complete_count=value.delivery_complete_count,
            state_batches=combined((*self.state_batches, *batches_of(value.state_batches)), start_offset),
        )

    def snapshot_record(self, key: SharePartitionKey) -> CoordinatorRecord:
        """Return the ShareSnapshot of this state."""
        value = share_snapshot.ShareSnapshotValue(
            snapshot_epoch=self.snapshot_epoch,
            state_epoch=self.state_epoch,
            leader_epoch=self.leader_epoch,
            start_offset=self.start_offset,
            delivery_complete_count=self.delivery_complete_count,
            create_timestamp=self.create_timestamp,
            write_timestamp=self.write_timestamp,
            state_batches=[share_snapshot.StateBatch(**batch._asdict()) for batch in self.state_batches],
        )
        return CoordinatorRecord(share_snapshot.ShareSnapshotKey(**key._asdict()), value)

    def update_record(self, key: SharePartitionKey) -> CoordinatorRecord:
        """Return the ShareUpdate with this state, which has only what changes."""
        value = share_update.ShareUpdateValue(
            snapshot_epoch=self.snapshot_epoch,
            leader_epoch=self.leader_epoch,
            start_offset=self.start_offset,
            delivery_complete_count=self.delivery_complete_count,
            state_batches=[share_update.StateBatch(**batch._asdict()) for batch in self.state_batches],
        )
        return CoordinatorRecord(share_update.ShareUpdateKey(**key._asdict()), value)


def tombstone(key: SharePartitionKey) -> CoordinatorRecord:
    """Return the record that deletes the state of a share partition."""
    return CoordinatorRecord(share_snapshot.ShareSnapshotKey(**key._asdict()), None)


def batches_of(batches: Iterable[Any]) -> tuple[StateBatch, ...]:
    """Return the state batches of a message."""
    return tuple(
        StateBatch(each.first_offset, each.last_offset, each.delivery_count, each.delivery_state) for each in batches
    )
