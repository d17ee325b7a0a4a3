"""The state of one partition of `__share_group_state`. Mirrors ShareCoordinatorShard (KIP-932).

The group coordinator initializes and deletes the state of share partitions; their leaders read and write it. An
operation concerns one share partition. It refuses by a result with an error code, as a request may have many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

from broker_sim.coordinators.default_messages import default_message
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from broker_sim.coordinators.runtime.snapshot_registry import TimelineDict
from broker_sim.coordinators.share.redundant_offsets import RedundantOffsets
from broker_sim.coordinators.share.share_partition_key import SharePartitionKey
from broker_sim.coordinators.share.share_partition_state import SharePartitionState, batches_of, tombstone
from broker_sim.coordinators.share.state_batches import combined
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages import (
    delete_share_group_state as delete,
)
from protocol_specs.messages import (
    initialize_share_group_state as initialize,
)
from protocol_specs.messages import (
    read_share_group_state as read,
)
from protocol_specs.messages import (
    read_share_group_state_summary as summary,
)
from protocol_specs.messages import (
    write_share_group_state as write,
)
from protocol_specs.schemas.coordinator.share_snapshot import ShareSnapshotKey, ShareSnapshotValue
from protocol_specs.schemas.coordinator.share_update import ShareUpdateKey, ShareUpdateValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from broker_sim.coordinators.runtime.shard import ShardContext

__all__ = ["Refusal", "ShareShard"]

R = TypeVar("R")

UNKNOWN_EPOCH: Final = -1
"""An epoch that a request does not check."""
UNINITIALIZED_START_OFFSET: Final = -1
UNINITIALIZED_COUNT: Final = -1
_UPDATES_PER_SNAPSHOT: Final = "share.coordinator.snapshot.update.records.per.snapshot"
_COLD_INTERVAL: Final = "share.coordinator.cold.partition.snapshot.interval.ms"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an operation on one share partition fails."""

    error_code: ErrorCode
    message: str


class ShareShard:
    """The state of the share partitions whose keys have this partition."""

    def __init__(self, context: ShardContext) -> None:
        self.states: TimelineDict[SharePartitionKey, SharePartitionState] = TimelineDict(context.snapshots)
        self.redundant = RedundantOffsets(context.snapshots)
        self._context = context
        self._leader_epochs: TimelineDict[SharePartitionKey, int] = TimelineDict(context.snapshots)
        self._state_epochs: TimelineDict[SharePartitionKey, int] = TimelineDict(context.snapshots)
        self._updates: TimelineDict[SharePartitionKey, int] = TimelineDict(context.snapshots)

    # Replay.

    def replay(self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord) -> None:
        """Apply a snapshot, an update or a tombstone."""
        del producer_id, producer_epoch
        if isinstance(record.key, ShareSnapshotKey):
            key = SharePartitionKey(record.key.group_id, record.key.topic_id, record.key.partition)
            if isinstance(record.value, ShareSnapshotValue):
                self._replay_snapshot(key, record.value)
            else:
                for timeline in (self.states, self._leader_epochs, self._state_epochs, self._updates):
                    timeline.pop(key)
            self.redundant.snapshot_replayed(key, offset, deleted=record.value is None)
        elif isinstance(record.key, ShareUpdateKey) and isinstance(record.value, ShareUpdateValue):
            key = SharePartitionKey(record.key.group_id, record.key.topic_id, record.key.partition)
            self._replay_update(key, record.value)

    def _replay_snapshot(self, key: SharePartitionKey, value: ShareSnapshotValue) -> None:
        _raise_to(self._leader_epochs, key, value.leader_epoch)
        _raise_to(self._state_epochs, key, value.state_epoch)
        self.states[key] = SharePartitionState.of_snapshot(value)
        updates = self._updates.get(key)
        if updates is not None and updates >= self._updates_per_snapshot:
            self._updates[key] = 0

    def _replay_update(self, key: SharePartitionKey, value: ShareUpdateValue) -> None:
        _raise_to(self._leader_epochs, key, value.leader_epoch)
        state = self.states.get(key)
        self.states[key] = SharePartitionState.of_lone_update(value) if state is None else state.updated(value)
        self._updates[key] = (self._updates.get(key) or 0) + 1

    def base_sequence(self, record: CoordinatorRecord) -> int:  # noqa: ARG002
        """Return 0, with which the runtime of coordinators writes all batches."""
        return 0

    def replay_end_of_transaction(self, producer_id: int, producer_epoch: int, *, committed: bool) -> None:
        """The topic has no transactions."""

    def loaded(self) -> None:
        """No timers belong to the shard: the coordinator has those of all."""

    def unloaded(self) -> None:
        """No requests are parked."""

    def written(self) -> None:
        """Do nothing: the state of share partitions is in the records alone."""

    def image_changed(self, changed_topics: frozenset[str], deleted_topics: frozenset[str]) -> None:
        """The coordinator deletes the state of deleted topics by an operation."""

    @property
    def _updates_per_snapshot(self) -> int:
        value = self._context.config[_UPDATES_PER_SNAPSHOT]
        assert isinstance(value, int)
        return value

    # Operations.

    def initialize(
        self, key: SharePartitionKey, data: initialize.PartitionData
    ) -> CoordinatorResult[initialize.PartitionResult]:
        """Write a new snapshot with a start offset (-1: none yet). Mirrors initializeState."""
        refusal = self._negative_partition(key) or self._fenced_state(key, data.state_epoch) or self._unknown(key)
        if refusal is not None:
            return _refused(initialize.PartitionResult, key, refusal)
        known = self.states.get(key)
        now_ms = self._context.now_ms()
        state = SharePartitionState(
            snapshot_epoch=0 if known is None else known.snapshot_epoch + 1,
            state_epoch=data.state_epoch,
            leader_epoch=0,
            start_offset=data.start_offset,
            delivery_complete_count=UNINITIALIZED_COUNT if data.start_offset == UNINITIALIZED_START_OFFSET else 0,
            create_timestamp=now_ms,
            write_timestamp=now_ms,
        )
        return CoordinatorResult([state.snapshot_record(key)], initialize.PartitionResult(partition=key.partition))

    def read(self, key: SharePartitionKey, data: read.PartitionData) -> CoordinatorResult[read.PartitionResult]:
        """Return the state, and store a leader epoch that is newer. Mirrors readStateAndMaybeUpdateLeaderEpoch."""
        refusal = (
            self._negative_partition(key)
            or self._uninitialized(key, "Read")
            or self._fenced_leader(key, data.leader_epoch)
            or self._unknown(key)
        )
        if refusal is not None:
            return _refused(read.PartitionResult, key, refusal)
        state = self.states[key]
        result = read.PartitionResult(
            partition=key.partition,
            state_epoch=state.state_epoch,
            start_offset=state.start_offset,
            state_batches=[read.StateBatch(**batch._asdict()) for batch in state.state_batches],
        )
        if data.leader_epoch in (UNKNOWN_EPOCH, self._leader_epochs.get(key)):
            return CoordinatorResult([], result)
        changes = SharePartitionState(
            snapshot_epoch=state.snapshot_epoch,
            state_epoch=state.state_epoch,
            leader_epoch=data.leader_epoch,
            start_offset=state.start_offset,
            delivery_complete_count=state.delivery_complete_count,
        )
        return CoordinatorResult([self._record(key, changes)], result)

    def write(self, key: SharePartitionKey, data: write.PartitionData) -> CoordinatorResult[write.PartitionResult]:
        """Write changed batches and the start offset (-1: as it is). Mirrors writeState."""
        refusal = (
            self._negative_partition(key)
            or self._uninitialized(key, "Write")
            or self._fenced_leader(key, data.leader_epoch)
            or self._fenced_state(key, data.state_epoch)
            or self._unknown(key)
        )
        if refusal is not None:
            return _refused(write.PartitionResult, key, refusal)
        state = self.states[key]
        changes = SharePartitionState(
            snapshot_epoch=state.snapshot_epoch,
            state_epoch=state.state_epoch,
            leader_epoch=state.leader_epoch,
            start_offset=data.start_offset,
            delivery_complete_count=data.delivery_complete_count,
            state_batches=batches_of(data.state_batches),
        )
        return CoordinatorResult([self._record(key, changes)], write.PartitionResult(partition=key.partition))

    def _record(self, key: SharePartitionKey, changes: SharePartitionState) -> CoordinatorRecord:
        """Return an update, or a snapshot after so many updates. Mirrors generateShareStateRecord."""
        if (self._updates.get(key) or 0) < self._updates_per_snapshot:
            batches = combined(changes.state_batches, changes.start_offset)
            return replace(changes, state_batches=batches).update_record(key)
        state = self.states[key]
        start_offset = state.start_offset if changes.start_offset == -1 else changes.start_offset
        now_ms = self._context.now_ms()
        return replace(
            changes,
            snapshot_epoch=state.snapshot_epoch + 1,
            start_offset=start_offset,
            state_batches=combined((*state.state_batches, *changes.state_batches), start_offset),
            create_timestamp=now_ms,
            write_timestamp=now_ms,
        ).snapshot_record(key)

    def delete(
        self,
        key: SharePartitionKey,
        data: delete.PartitionData,  # noqa: ARG002
    ) -> CoordinatorResult[delete.PartitionResult]:
        """Delete the state; it is no error if there is none. Mirrors deleteState."""
        refusal = self._negative_partition(key) or self._unknown(key)
        if refusal is not None:
            return _refused(delete.PartitionResult, key, refusal)
        records = [tombstone(key)] if key in self.states else []
        return CoordinatorResult(records, delete.PartitionResult(partition=key.partition))

    def read_summary(
        self,
        key: SharePartitionKey,
        data: summary.PartitionData,  # noqa: ARG002
    ) -> CoordinatorResult[summary.PartitionResult]:
        """Return the start offset and epochs, -1 for a share partition without state. Mirrors readStateSummary."""
        refusal = self._negative_partition(key) or self._unknown(key)
        if refusal is not None:
            return _refused(summary.PartitionResult, key, refusal)
        state = self.states.get(key)
        if state is None:
            result = summary.PartitionResult(partition=key.partition, start_offset=UNINITIALIZED_START_OFFSET)
        else:
            result = summary.PartitionResult(
                partition=key.partition,
                state_epoch=state.state_epoch,
                leader_epoch=state.leader_epoch,
                start_offset=state.start_offset,
                delivery_complete_count=state.delivery_complete_count,
            )
        return CoordinatorResult([], result)

    # Clean-ups.

    def snapshot_cold_partitions(self) -> CoordinatorResult[None]:
        """Write the snapshots of old ones anew, so that the records between can be deleted.

        Mirrors snapshotColdPartitions.
        """
        states = self.states.items()
        if all(state.create_timestamp != state.write_timestamp for _, state in states):
            return CoordinatorResult([], None)
        now_ms = self._context.now_ms()
        interval = self._context.config[_COLD_INTERVAL]
        assert isinstance(interval, int)
        records = [
            replace(state, snapshot_epoch=state.snapshot_epoch + 1, write_timestamp=now_ms).snapshot_record(key)
            for key, state in states
            if now_ms - state.write_timestamp >= interval
        ]
        return CoordinatorResult(records, None)

    def delete_topics(self, topic_ids: frozenset[bytes]) -> CoordinatorResult[None]:
        """Delete the state of deleted topics. Mirrors maybeCleanupShareState."""
        return CoordinatorResult([tombstone(key) for key in self.states if key.topic_id in topic_ids], None)

    # Checks.

    @staticmethod
    def _negative_partition(key: SharePartitionKey) -> Refusal | None:
        if key.partition >= 0:
            return None
        return Refusal(ErrorCode.INVALID_REQUEST, "The partition id cannot be a negative number.")

    def _uninitialized(self, key: SharePartitionKey, operation: str) -> Refusal | None:
        if key in self.states:
            return None
        message = f"{operation} operation on uninitialized share partition not allowed."
        return Refusal(ErrorCode.INVALID_REQUEST, message)

    def _fenced_leader(self, key: SharePartitionKey, leader_epoch: int) -> Refusal | None:
        return _fenced(ErrorCode.FENCED_LEADER_EPOCH, self._leader_epochs.get(key), leader_epoch)

    def _fenced_state(self, key: SharePartitionKey, state_epoch: int) -> Refusal | None:
        return _fenced(ErrorCode.FENCED_STATE_EPOCH, self._state_epochs.get(key), state_epoch)

    def _unknown(self, key: SharePartitionKey) -> Refusal | None:
        topic = self._context.host.metadata_cache.image.topics_by_id.get(key.topic_id)
        if topic is not None and key.partition < len(topic.partitions):
            return None
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, default_message(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))


def _fenced(error_code: ErrorCode, known: int | None, requested: int) -> Refusal | None:
    if requested == UNKNOWN_EPOCH or known is None or known <= requested:
        return None
    return Refusal(error_code, default_message(error_code))


def _raise_to(epochs: TimelineDict[SharePartitionKey, int], key: SharePartitionKey, epoch: int) -> None:
    known = epochs.get(key)
    if known is None or known < epoch:
        epochs[key] = epoch


def _refused(result: Callable[..., R], key: SharePartitionKey, refusal: Refusal) -> CoordinatorResult[R]:
    return CoordinatorResult(
        [], result(partition=key.partition, error_code=refusal.error_code, error_message=refusal.message)
    )
