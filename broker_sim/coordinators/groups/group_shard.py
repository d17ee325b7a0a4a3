"""The state of one partition of `__consumer_offsets`. Mirrors GroupCoordinatorShard.

Each part owns some types of records and replays them; `parts` lists them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from broker_sim.coordinators.groups.classic.classic_group import ClassicGroup
from broker_sim.coordinators.groups.classic.classic_groups import ClassicGroups
from broker_sim.coordinators.groups.consumer.consumer_groups import ConsumerGroups
from broker_sim.coordinators.groups.coordinator_choice import uses_old_coordinator
from broker_sim.coordinators.groups.group import GroupType
from broker_sim.coordinators.groups.group_deletion import GroupDeletion
from broker_sim.coordinators.groups.group_journal import GroupJournal
from broker_sim.coordinators.groups.group_registry import GroupRegistry
from broker_sim.coordinators.groups.modern.epoch_group import EpochGroup
from broker_sim.coordinators.groups.offsets.offset_metadata_manager import OffsetMetadataManager
from broker_sim.coordinators.groups.share.share_groups import ShareGroups
from broker_sim.coordinators.groups.streams.streams_groups import StreamsGroups
from broker_sim.coordinators.runtime.snapshot_registry import SnapshotRegistry
from protocol_specs.records.batch_peek import NO_SEQUENCE
from protocol_specs.schemas.coordinator.offset_commit import OffsetCommitKey

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from broker_sim.coordinators.runtime.shard import ShardContext
    from protocol_specs.java_hash import ConcurrentKeys
    from protocol_specs.message import Message

__all__ = ["GroupShard", "Replayed", "ShardPart"]


class Replayed:
    """One record to replay: key, value (None for a tombstone), offset and the producer of transactional records."""

    __slots__ = ("key", "offset", "producer_epoch", "producer_id", "value")

    def __init__(self, key: Any, value: Any, offset: int, producer_id: int, producer_epoch: int) -> None:
        self.key = key
        self.value = value
        self.offset = offset
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch


class ShardPart(Protocol):
    """One part of a shard: the operations and the records of one kind of group, or of offsets."""

    @property
    def replays(self) -> Mapping[type[Message], Callable[[Replayed], None]]:
        """The types of keys that the part replays, and how."""

    def loaded(self) -> None:
        """All records are replayed: schedule timers."""

    def unloaded(self) -> None:
        """The shard ends: finish parked requests with NOT_COORDINATOR."""

    def image_changed(self, changed_topics: frozenset[str], deleted_topics: frozenset[str]) -> None:
        """Topics have changed."""

    def end_of_transaction(self, producer_id: int, producer_epoch: int, *, committed: bool) -> None:
        """A transaction has ended."""


class GroupShard:
    """The groups and offsets of one partition."""

    def __init__(self, context: ShardContext, of_all_shards: ConcurrentKeys[str]) -> None:
        self.context = context
        self._old_coordinator = old_coordinator = uses_old_coordinator(context.config)
        # The old coordinator keeps its groups when an append fails, and reads their newest state.
        snapshots = SnapshotRegistry() if old_coordinator else context.snapshots
        self.groups = GroupRegistry(snapshots, of_all_shards=of_all_shards if old_coordinator else None)
        self.classic = ClassicGroups(context, self.groups, old_coordinator=old_coordinator)
        part_types = context.config.part_types
        self.offsets = part_types.of(OffsetMetadataManager)(context, self.groups, self.classic.existing_or_created)
        self.deletion = GroupDeletion(self.groups, self.offsets.delete_all_offsets, old_coordinator=old_coordinator)
        self.consumer = part_types.of(ConsumerGroups)(context, self.groups, self.classic)
        self.classic.servers[GroupType.CONSUMER] = self.consumer.classic_members
        self.share = ShareGroups(context, self.groups)
        self.streams = StreamsGroups(context, self.groups)
        self.parts: tuple[ShardPart, ...] = (self.classic, self.offsets, self.consumer, self.share, self.streams)
        self._replays: dict[type[Message], Callable[[Replayed], None]] = {}
        self._journal = GroupJournal(context)
        self._states: dict[str, str] = {}
        self._touched: dict[str, None] = {}
        part: ShardPart
        for part in self.parts:
            self._replays.update(part.replays)

    def replay(self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord) -> None:
        """Apply a record through the part that owns its type."""
        replay = self._replays.get(type(record.key))
        if replay is not None:
            replay(Replayed(record.key, record.value, offset, producer_id, producer_epoch))
            group_id: str | None = getattr(record.key, "group_id", None)  # records of classic groups name it otherwise
            if group_id is not None and self.context.is_active:
                self._touched[group_id] = None

    def written(self) -> None:
        """Put the states of groups that an operation has changed into the journal; classic groups do it themselves."""
        touched, self._touched = self._touched, {}
        for group_id in touched:
            group = self.groups.get(group_id)
            if isinstance(group, EpochGroup):
                previous, state = self._states.get(group_id, "new"), group.state_name()
                self._states[group_id] = state
                self._journal.state_changed(
                    group_id,
                    group.type,
                    previous=previous,
                    state=state,
                    generation=group.group_epoch.get(),
                    members=len(group.members),
                    reason="",
                )
            else:
                self._states.pop(group_id, None)

    def base_sequence(self, record: CoordinatorRecord) -> int:
        """Return 0 as the runtime of coordinators does; the old coordinator gives a sequence to commits alone."""
        is_commit = isinstance(record.key, OffsetCommitKey) and record.value is not None
        return 0 if is_commit or not self._old_coordinator else NO_SEQUENCE

    def replay_end_of_transaction(self, producer_id: int, producer_epoch: int, *, committed: bool) -> None:
        """Apply the end of a transaction."""
        for part in self.parts:
            part.end_of_transaction(producer_id, producer_epoch, committed=committed)

    def loaded(self) -> None:
        """Schedule the timers of all parts.

        The old coordinator makes a group without records of its own only of the offsets that are left in the log.
        """
        for part in self.parts:
            part.loaded()
        for group in self.groups.all_of(ClassicGroup) if self._old_coordinator else ():
            if group.is_without_records and not self.offsets.has_offsets(group.group_id):
                self.groups.remove(group.group_id)

    def unloaded(self) -> None:
        """Finish the parked requests of all parts."""
        for part in self.parts:
            part.unloaded()
        self.groups.unloaded()

    def image_changed(self, changed_topics: frozenset[str], deleted_topics: frozenset[str]) -> None:
        """Notify all parts of changed and deleted topics."""
        for part in self.parts:
            part.image_changed(changed_topics, deleted_topics)
