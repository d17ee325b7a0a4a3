"""The committed offsets of one shard: commits, fetches, deletions, expiration. Mirrors OffsetMetadataManager.

A commit writes one record per partition, a deletion or expiration a tombstone. Transactional offsets (KIP-98) are
pending until the marker of their transaction. Releases before 4.0 had another coordinator, whose differences are
switches of `release_behaviour`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_sim.control.events import OffsetCommitted, OffsetRemoved
from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.groups.coordinator_choice import is_first_preview, uses_old_coordinator
from broker_sim.coordinators.groups.group import GroupType
from broker_sim.coordinators.groups.offsets.committed_offset import (
    ARRIVAL,
    NO_EXPIRATION,
    WITH_TOPIC_ID,
    CommittedOffset,
    commit_record,
    key_with_bytes,
    metadata_is_too_long,
    packed_value,
    tombstone,
)
from broker_sim.coordinators.groups.offsets.offset_store import OffsetStore
from broker_sim.coordinators.groups.offsets.pending_offsets import PendingOffsets
from broker_sim.coordinators.groups.offsets.scala_order import kept_order, removed_order
from broker_sim.coordinators.runtime.coordinator_result import CoordinatorResult
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.records.batch_peek import NO_PRODUCER_ID
from protocol_specs.schemas.coordinator.legacy_offset_commit import LegacyOffsetCommitKey
from protocol_specs.schemas.coordinator.offset_commit import OffsetCommitKey
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from broker_sim.control.events import Event
    from broker_sim.control.journal import Journal
    from broker_sim.coordinators.groups.group import Group, PartitionCheck
    from broker_sim.coordinators.groups.group_registry import GroupRegistry
    from broker_sim.coordinators.groups.group_shard import Replayed
    from broker_sim.coordinators.groups.offsets.committed_offset import OffsetCommit
    from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord
    from broker_sim.coordinators.runtime.shard import ShardContext
    from broker_sim.metadata.metadata_image import TopicImage
    from protocol_specs.message import Message
    from protocol_specs.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition

__all__ = ["LATEST", "FetchedOffset", "OffsetMetadataManager"]

LATEST: Final = 2**63 - 1
"""As an offset of the log: the newest state, with records that are not committed yet."""
DEFAULT_RETENTION: Final = -1
EXPIRATION_KEY: Final = "expire-group-metadata"
DELETED_TOPICS_KEY: Final = "delete-offsets-of-topics"
GROUP_NOT_FOUND_SINCE: Final = 9
_NONE: Final = ErrorCode.NONE
"""A constant, because looking up a member of an enum is slow."""
_new_tuple: Final = tuple.__new__
_MS_PER_MINUTE: Final = 60_000


@dataclass(frozen=True, slots=True)
class FetchedOffset:
    """The committed offset of a partition: None if there is none, or if it is unstable."""

    partition: TopicPartition
    committed: CommittedOffset | None
    error_code: ErrorCode = ErrorCode.NONE


class OffsetMetadataManager:
    """The offsets of one shard's groups."""

    def __init__(
        self, context: ShardContext, groups: GroupRegistry, existing_or_created: Callable[[str], Group]
    ) -> None:
        self._context = context
        self._journal: Journal = context.host.journal
        self._groups = groups
        self._existing_or_created = existing_or_created
        self._offsets = OffsetStore(context.snapshots)
        self._deleted_topics: dict[str, None] = {}
        self._version = context.config.behaviour.offset_commit_value_version
        self._old_coordinator = uses_old_coordinator(context.config)
        self._is_first_preview = is_first_preview(context.config)
        self._pending = PendingOffsets(context.snapshots, known_to_groups=not self._is_first_preview)
        self._commits_expire = context.config.behaviour.commits_state_their_expiration
        self.replays: Mapping[type[Message], Callable[[Replayed], None]] = {
            LegacyOffsetCommitKey: self._replay,
            OffsetCommitKey: self._replay,
        }

    # Commits.

    def commit(
        self,
        group_id: str,
        member_id: str,
        group_instance_id: str | None,
        member_epoch: int,
        retention_ms: int,
        commits: Sequence[OffsetCommit],
        api_version: int,
    ) -> CoordinatorResult[list[ErrorCode]]:
        """Commit offsets; the response has one error per commit. Mirrors commitOffset.

        Raises:
            CoordinatorError: The member may not commit.
        """
        group = self._group_of_commit(group_id, member_epoch, api_version)
        check = group.check_offset_commit(
            member_id=member_id,
            group_instance_id=group_instance_id,
            member_epoch=member_epoch,
            transactional=False,
            api_version=api_version,
        )
        group.commit_received(member_id)
        result = self._write(group_id, commits, retention_ms=retention_ms, check=check)
        if not self._journal.full:
            return result
        events = [
            OffsetCommitted(
                time_us=self._journal.now_us(),
                broker_id=self._context.host.id,
                group_id=group_id,
                member_id=member_id,
                generation=member_epoch,
                topic=commit.topic,
                partition=commit.partition,
                offset=commit.offset,
            )
            for commit, error_code in zip(commits, result.response, strict=True)
            if not error_code
        ]
        return result._replace(on_committed=self._when_committed(events))

    def commit_one(
        self,
        request: OffsetCommitRequest,
        topic: TopicImage,
        partition: OffsetCommitRequestPartition,
        api_version: int,
        offset: int,
        now_ms: int,
    ) -> tuple[bytes, bytes] | None:
        """Apply a request's only commit, whose record has an offset of the log; return key and value of the record.

        None for a commit that is one for `commit`: with metadata or a time of its own, of a new group, refused, or in
        the journal; nothing has changed then.
        """
        group_id = request.group_id
        group = self._groups.get(group_id)
        if (
            group is None
            or partition.committed_metadata
            or partition.commit_timestamp != ARRIVAL
            or self._version != WITH_TOPIC_ID
            or self._journal.full
        ):
            return None
        member_id, member_epoch = request.member_id, request.generation_id_or_member_epoch
        try:
            check = group.check_offset_commit(
                member_id=member_id,
                group_instance_id=request.group_instance_id,
                member_epoch=member_epoch,
                transactional=False,
                api_version=api_version,
            )
        except CoordinatorError:
            return None
        if check is not None:
            return None
        group.commit_received(member_id)
        name, topic_id, index = topic.name, topic.topic_id, partition.partition_index
        committed, leader_epoch = partition.committed_offset, partition.committed_leader_epoch
        fields = (committed, leader_epoch, "", now_ms, NO_EXPIRATION, topic_id, offset)
        self._offsets.put(group_id, (name, index), _new_tuple(CommittedOffset, fields))
        return key_with_bytes(group_id, name, index)[1], packed_value(committed, leader_epoch, now_ms, topic_id)

    def commit_transactional(
        self,
        *,
        producer_id: int,
        group_id: str,
        member_id: str,
        group_instance_id: str | None,
        generation_id: int,
        commits: Sequence[OffsetCommit],
        api_version: int,
    ) -> CoordinatorResult[list[ErrorCode]]:
        """Commit offsets within a transaction. Mirrors commitTransactionalOffset.

        Raises:
            CoordinatorError: The member may not commit.
        """
        makes_group = generation_id < 0 or self._old_coordinator
        if self._groups.get(group_id) is None and not makes_group:
            raise CoordinatorError(ErrorCode.ILLEGAL_GENERATION)
        group = self._existing_or_created(group_id)
        try:
            check = group.check_offset_commit(
                member_id=member_id,
                group_instance_id=group_instance_id,
                member_epoch=generation_id,
                transactional=True,
                api_version=api_version,
            )
            result = self._write(group_id, commits, retention_ms=DEFAULT_RETENTION, check=check)
        except CoordinatorError as error:
            if error.error_code == ErrorCode.STALE_MEMBER_EPOCH:
                raise CoordinatorError(ErrorCode.ILLEGAL_GENERATION) from error
            raise
        if not self._old_coordinator:
            return result
        written = [
            TopicPartition(commit.topic, commit.partition)
            for commit, error_code in zip(commits, result.response, strict=True)
            if not error_code
        ]

        def end(error: CoordinatorError | None) -> None:
            """Drop the pending offsets of a failed write, those of earlier writes too, which the log keeps."""
            if error is not None:
                self._pending.fail(producer_id, group_id, written)
                self._context.snapshots.settle()

        return result._replace(on_committed=end)

    def _group_of_commit(self, group_id: str, member_epoch: int, api_version: int) -> Group:
        group = self._groups.get(group_id)
        if group is not None:
            return group
        if member_epoch < 0:
            return self._existing_or_created(group_id)
        if api_version >= GROUP_NOT_FOUND_SINCE and not self._old_coordinator:
            self._groups.existing(group_id)  # raises
        raise CoordinatorError(ErrorCode.ILLEGAL_GENERATION)

    def _write(
        self, group_id: str, commits: Sequence[OffsetCommit], *, retention_ms: int, check: PartitionCheck | None
    ) -> CoordinatorResult[list[ErrorCode]]:
        now_ms = self._context.now_ms()
        results: list[ErrorCode] = []
        records: list[CoordinatorRecord] = []
        for commit in commits:
            if commit.metadata and metadata_is_too_long(commit.metadata, self._number("offset.metadata.max.bytes")):
                results.append(ErrorCode.OFFSET_METADATA_TOO_LARGE)
                continue
            if check is not None:
                check(commit.topic, self._topic_id(commit), commit.partition)
            results.append(_NONE)
            records.append(
                commit_record(group_id, commit, now_ms, self._expiration(retention_ms, commit, now_ms), self._version)
            )
        return CoordinatorResult(records, results)

    def _topic_id(self, commit: OffsetCommit) -> bytes:
        """Return the id of a commit's topic, which early versions of the request do not have."""
        topic = self._context.host.metadata_cache.image.topics.get(commit.topic)
        return commit.topic_id if commit.topic_id != ZERO_UUID or topic is None else topic.topic_id

    def _expiration(self, retention_ms: int, commit: OffsetCommit, now_ms: int) -> int:
        if self._commits_expire:
            if retention_ms == DEFAULT_RETENTION:
                retention_ms = self._retention_ms
            now_ms = now_ms if commit.timestamp_ms == ARRIVAL else commit.timestamp_ms
        elif retention_ms == DEFAULT_RETENTION:
            return NO_EXPIRATION
        return _wrapped(now_ms + retention_ms)

    # Fetches.

    def fetch(
        self,
        *,
        group_id: str,
        member_id: str | None,
        member_epoch: int,
        partitions: Sequence[tuple[TopicPartition, bytes]] | None,
        require_stable: bool,
        committed_offset: int,
    ) -> list[FetchedOffset]:
        """Return offsets of partitions with their topic ids, or (None) all of a group. Mirrors fetchOffsets.

        Raises:
            CoordinatorError: The member may not fetch.
        """
        try:
            group = self._groups.existing(group_id, committed_offset)
            group.check_offset_fetch(member_id=member_id, member_epoch=member_epoch, committed_offset=committed_offset)
        except CoordinatorError as error:
            if error.error_code != ErrorCode.GROUP_ID_NOT_FOUND:
                raise
            return [FetchedOffset(partition, None) for partition, _ in partitions or ()]
        if partitions is None:
            partitions = [(partition, ZERO_UUID) for partition, _ in self._offsets.of_group(group_id, committed_offset)]
        return [
            self._fetched(group_id, partition, topic_id, committed_offset, require_stable=require_stable)
            for partition, topic_id in partitions
        ]

    def _fetched(
        self, group_id: str, partition: TopicPartition, topic_id: bytes, committed_offset: int, *, require_stable: bool
    ) -> FetchedOffset:
        committed = self._offsets.get_at(group_id, partition, committed_offset)
        if require_stable and self._is_unstable(group_id, partition, committed):
            return FetchedOffset(partition, None, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        if committed is not None and ZERO_UUID not in (topic_id, committed.topic_id) and topic_id != committed.topic_id:
            committed = None  # the offset of an earlier topic of the same name
        return FetchedOffset(partition, committed)

    def _is_unstable(self, group_id: str, partition: TopicPartition, committed: CommittedOffset | None) -> bool:
        if self._pending.has_offset(group_id, partition):
            return True
        return self._old_coordinator and self._offsets.get(group_id, partition) is not committed

    def has_open_transaction(self, producer_id: int) -> bool:
        """Return True if a transaction of the producer has offsets here."""
        return self._pending.has_producer(producer_id)

    def committed(self, group_id: str) -> list[tuple[TopicPartition, CommittedOffset]]:
        """Return the newest offsets of a group, for reports and tests."""
        return self._offsets.of_group(group_id)

    # Deletions.

    def delete(
        self, group_id: str, partitions: Sequence[TopicPartition]
    ) -> CoordinatorResult[dict[TopicPartition, ErrorCode]]:
        """Delete offsets of partitions; the response has the errors of those that it lists. Mirrors deleteOffsets.

        Raises:
            CoordinatorError: The group does not exist, or its offsets cannot be deleted.
        """
        group = self._groups.existing(group_id)
        group.check_offset_delete()
        refused = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        results = {each: refused if group.is_subscribed_to(each.topic) else ErrorCode.NONE for each in partitions}
        chosen = [partition for partition in partitions if not results[partition]]
        if self._is_first_preview:
            absent = [partition for partition in chosen if self._offsets.get(group_id, partition) is None]
            results = {each: error for each, error in results.items() if each not in absent}
            chosen = [partition for partition in chosen if partition not in absent]
        removed_offsets = self._to_remove(group_id, chosen)
        records = [self._tombstone(group_id, partition) for partition in removed_offsets]
        events: list[Event] = [self._removed(group_id, partition, "deleted") for partition in removed_offsets]
        if self._old_coordinator and ErrorCode.NONE in results.values():
            removed = dict.fromkeys(partitions)
            if not self._pending.has_transaction(group_id) and all(
                partition in removed for partition, _ in self._offsets.of_group(group_id)
            ):
                records += self._end_if_empty(group)
        return CoordinatorResult(records, results, self._when_committed(events), unconditional=self._old_coordinator)

    def _to_remove(self, group_id: str, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Return the partitions whose removal needs a record, in the order of the records.

        The old coordinator drops pending offsets without one, and collects the partitions in a map.
        """
        if not self._old_coordinator:
            return [
                each
                for each in partitions
                if self._offsets.get(group_id, each) is not None or self._pending.has_offset(group_id, each)
            ]
        distinct = dict.fromkeys(partitions)
        for each in distinct:
            self._pending.remove(group_id, each)
        return removed_order(each for each in distinct if self._offsets.get(group_id, each) is not None)

    def _listed(self, group_id: str) -> list[tuple[TopicPartition, CommittedOffset]]:
        """Return the newest offsets of a group in the order in which the coordinator iterates over them."""
        if not self._old_coordinator:
            return self._offsets.of_group(group_id)
        offsets = dict(self._offsets.of_group(group_id))
        return [(partition, offsets[partition]) for partition in kept_order(offsets)]

    def has_offsets(self, group_id: str) -> bool:
        """Return True if a group has offsets, committed or pending."""
        return bool(self._offsets.of_group(group_id)) or self._pending.has_transaction(group_id)

    def delete_all_offsets(self, group_id: str) -> list[CoordinatorRecord]:
        """Return the tombstones of all offsets of a group, pending ones too. Mirrors deleteAllOffsets."""
        committed = [partition for partition, _ in self._listed(group_id)]
        for partition in committed:
            self._journal.append(self._removed(group_id, partition, "its group is deleted"))
        partitions = dict.fromkeys([*committed, *self._pending.partitions_of(group_id)])
        return [self._tombstone(group_id, partition) for partition in self._to_remove(group_id, list(partitions))]

    def image_changed(self, changed_topics: frozenset[str], deleted_topics: frozenset[str]) -> None:  # noqa: ARG002
        """Delete the offsets of deleted topics. Mirrors onPartitionsDeleted."""
        if deleted_topics and not self._is_first_preview:
            self._deleted_topics.update(dict.fromkeys(sorted(deleted_topics)))
            self._context.timers.schedule_if_absent(DELETED_TOPICS_KEY, 0, self._delete_offsets_of_topics)

    def _delete_offsets_of_topics(self) -> CoordinatorResult[None]:
        deleted, self._deleted_topics = self._deleted_topics, {}
        if self._old_coordinator:
            return self._delete_in_each_group(deleted)
        records: dict[tuple[str, TopicPartition], CoordinatorRecord] = {}
        events: list[Event] = []
        for group_id in dict.fromkeys([*self._offsets.group_ids, *self._pending.group_ids]):
            of_group = dict(self._listed(group_id))
            for partition in [*of_group, *self._pending.partitions_of(group_id)]:
                committed = of_group.get(partition)
                if partition.topic not in deleted or self._is_of_present_topic(partition, committed):
                    continue
                if committed is not None:
                    events.append(self._removed(group_id, partition, "its topic is deleted"))
                records[group_id, partition] = self._tombstone(group_id, partition)
        return CoordinatorResult(list(records.values()), None, self._when_committed(events), atomic=False)

    def _is_of_present_topic(self, partition: TopicPartition, committed: CommittedOffset | None) -> bool:
        """Return True if an offset was committed for a new topic with the name of the deleted one."""
        topic = self._context.host.metadata_cache.image.topics.get(partition.topic)
        return topic is not None and committed is not None and committed.topic_id == topic.topic_id

    def _delete_in_each_group(self, deleted: Mapping[str, None]) -> CoordinatorResult[None]:
        """Delete the offsets of topics, and every empty group that has none left.

        Mirrors handleDeletedPartitions and cleanupGroupMetadata of the old coordinator.
        """

        def remove(group: Group, events: list[Event]) -> list[CoordinatorRecord]:
            group_id = group.group_id
            kept = [partition for partition, _ in self._listed(group_id)]
            listed = sorted([*kept, *self._pending.partitions_of(group_id)])
            chosen = [partition for name in deleted for partition in listed if partition.topic == name]
            removed = self._to_remove(group_id, chosen)
            events += [self._removed(group_id, partition, "its topic is deleted") for partition in removed]
            records = [self._tombstone(group_id, partition) for partition in removed]
            if len(removed) == len(kept) and not self._pending.has_transaction(group_id):
                records += self._end_if_empty(group)
            return records

        return self._clean_up(remove)

    def _clean_up(self, remove: Callable[[Group, list[Event]], list[CoordinatorRecord]]) -> CoordinatorResult[None]:
        """Run `remove` for each group; the old coordinator writes a batch per group."""
        records: list[CoordinatorRecord] = []
        events: list[Event] = []
        starts = set()
        for group in self._groups.all():
            starts.add(len(records))
            records += remove(group, events)
        batch_starts = frozenset(starts) if self._old_coordinator else frozenset[int]()
        return CoordinatorResult(
            records,
            None,
            self._when_committed(events),
            atomic=False,
            batch_starts=batch_starts,
            unconditional=self._old_coordinator,
        )

    def _tombstone(self, group_id: str, partition: TopicPartition) -> CoordinatorRecord:
        return tombstone(group_id, *partition, version=self._version)

    # Expiration.

    @property
    def _retention_ms(self) -> int:
        return self._number("offsets.retention.minutes") * _MS_PER_MINUTE

    def _schedule_expiration(self) -> None:
        interval_ms = self._number("offsets.retention.check.interval.ms")
        if interval_ms > 0:
            self._context.timers.schedule(EXPIRATION_KEY, interval_ms, self._expire)

    def _expire(self) -> CoordinatorResult[None]:
        """Delete expired offsets, and empty groups without offsets. Mirrors cleanupGroupMetadata."""
        self._schedule_expiration()
        return self._clean_up(self._expire_offsets)

    def _expire_offsets(self, group: Group, events: list[Event]) -> list[CoordinatorRecord]:
        """Return the tombstones of a group's expired offsets, and its own if nothing is left."""
        if group.type is GroupType.SHARE:
            return []
        now_ms = self._context.now_ms()
        kept = self._listed(group.group_id)
        expired = [each for each, committed in kept if self._is_expired(group, each, committed, now_ms)]
        if self._old_coordinator:
            expired = removed_order(expired)
        events += [self._removed(group.group_id, partition, "expired") for partition in expired]
        records = [self._tombstone(group.group_id, partition) for partition in expired]
        if len(expired) == len(kept) and not self._pending.has_transaction(group.group_id):
            records += self._end_if_empty(group)
        return records

    def _is_expired(self, group: Group, partition: TopicPartition, committed: CommittedOffset, now_ms: int) -> bool:
        expire_ms = committed.expire_timestamp_ms
        if not self._commits_expire:
            base_ms = group.expiry_base_ms(committed.commit_timestamp_ms)
            if base_ms is None or group.is_subscribed_to(partition.topic):
                return False
            if expire_ms == NO_EXPIRATION:
                expire_ms = base_ms + self._retention_ms
        elif expire_ms == NO_EXPIRATION:
            expire_ms = committed.commit_timestamp_ms + self._retention_ms
        if now_ms < expire_ms:
            return False
        # The old coordinator considers offsets that it is writing, but not those of open transactions.
        return self._old_coordinator or not self._pending.has_offset(group.group_id, partition)

    def _end_if_empty(self, group: Group) -> list[CoordinatorRecord]:
        if not group.is_empty():
            return []
        if group.type is GroupType.CLASSIC:
            self._groups.remove(group.group_id)  # the log need not have a record of a simple group
        return group.tombstones()

    # The journal.

    def _removed(self, group_id: str, partition: TopicPartition, reason: str) -> OffsetRemoved:
        return OffsetRemoved(
            time_us=self._journal.now_us(),
            broker_id=self._context.host.id,
            group_id=group_id,
            topic=partition.topic,
            partition=partition.partition,
            reason=reason,
        )

    def _when_committed(self, events: Sequence[Event]) -> Callable[[CoordinatorError | None], None]:
        """Return the end of a write that puts events into the journal."""

        def end(error: CoordinatorError | None) -> None:
            for event in events if error is None else ():
                event.time_us = self._journal.now_us()
                self._journal.append(event)

        return end

    # The shard's events.

    def loaded(self) -> None:
        """Start to expire offsets."""
        self._schedule_expiration()

    def unloaded(self) -> None:
        """Do nothing: offsets have no parked requests."""

    def _replay(self, replayed: Replayed) -> None:
        key = replayed.key
        partition = TopicPartition(key.topic, key.partition)
        if replayed.value is None:
            self._offsets.remove(key.group, partition)
            if not self._old_coordinator:  # which drops those that it has to in _to_remove
                self._pending.remove(key.group, partition)
            return
        self._existing_or_created(key.group)
        committed = CommittedOffset.of_record(replayed.value, replayed.offset)
        if replayed.producer_id == NO_PRODUCER_ID:
            self._offsets.put(key.group, partition, committed)
        else:
            self._pending.put(replayed.producer_id, key.group, partition, committed)

    def end_of_transaction(self, producer_id: int, producer_epoch: int, *, committed: bool) -> None:  # noqa: ARG002
        """Apply the pending offsets of a producer, or drop them. Mirrors replayEndTransactionMarker."""
        for group_id, partition, offset in self._pending.end(producer_id):
            if not committed:
                continue
            known = self._offsets.get(group_id, partition)
            if self._is_first_preview or known is None or offset.record_offset > known.record_offset:
                self._offsets.put(group_id, partition, offset)

    def _number(self, name: str) -> int:
        value = self._context.config[name]
        assert isinstance(value, int)
        return value


def _wrapped(value: int) -> int:
    """Return a sum as Java's 64 bits hold it."""
    return (value + 2**63) % 2**64 - 2**63
