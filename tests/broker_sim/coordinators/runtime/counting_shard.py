"""A shard that counts per key: the state machine of the runtime's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from broker_sim.coordinators.runtime.snapshot_registry import TimelineDict
from protocol_specs.error_codes import ErrorCode
from protocol_specs.schemas.coordinator.offset_commit import OffsetCommitKey, OffsetCommitValue

if TYPE_CHECKING:
    from broker_sim.coordinators.runtime.shard import ShardContext


def record(name: str, value: int | None) -> CoordinatorRecord:
    """Return the record that sets a count, or deletes it."""
    key = OffsetCommitKey(group=name, topic="counts", partition=0)
    body = None if value is None else OffsetCommitValue(offset=value, leader_epoch=-1, metadata="", commit_timestamp=0)
    return CoordinatorRecord(key, body, 3)


class CountingShard:
    """Counts that `add` increments through records."""

    def __init__(self, context: ShardContext) -> None:
        self.context = context
        self.counts: TimelineDict[str, int] = TimelineDict(context.snapshots)
        self.calls: list[str] = []
        self.transactions: list[tuple[int, int, bool]] = []

    def add(self, name: str, amount: int = 1) -> CoordinatorResult[int]:
        """Increment a count and return it."""
        value = (self.counts.get(name) or 0) + amount
        return CoordinatorResult([record(name, value)], value)

    def refuse(self) -> CoordinatorResult[None]:
        """Refuse the operation."""
        raise CoordinatorError(ErrorCode.GROUP_ID_NOT_FOUND)

    def replay(self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord) -> None:
        del offset, producer_id, producer_epoch
        if record.value is None:
            self.counts.pop(record.key.group)
        else:
            self.counts[record.key.group] = record.value.offset

    def base_sequence(self, record: CoordinatorRecord) -> int:
        return 0 if record.value is not None else -1

    def replay_end_of_transaction(self, producer_id: int, producer_epoch: int, *, committed: bool) -> None:
        self.transactions.append((producer_id, producer_epoch, committed))

    def loaded(self) -> None:
        self.calls.append("loaded")

    def unloaded(self) -> None:
        self.calls.append("unloaded")

    def written(self) -> None:
        """Do nothing."""

    def image_changed(self, changed_topics: frozenset[str], deleted_topics: frozenset[str]) -> None:
        self.calls.append(f"changed {sorted(changed_topics)} deleted {sorted(deleted_topics)}")
