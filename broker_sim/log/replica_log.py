"""The log of one replica on one broker. Mirrors UnifiedLog with its LocalLog.

Batches are immutable and shared: a follower appends the same objects that it has read from the leader. Each replica has
its own offsets, leader epochs and producer states.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from broker_sim.log.append_results import (
    AppendOrigin,
    OffsetOutOfRange,
    PartitionAppend,
    RecordError,
    RecordsRefused,
    UnexpectedAppendOffset,
)
from broker_sim.log.batch_validation import validated
from broker_sim.log.leader_epoch_cache import LeaderEpochCache
from broker_sim.log.log_segment import LogSegment
from broker_sim.log.lone_record import built_record_as_it_is, lone_record_as_it_is
from broker_sim.log.offset_lookup import (
    TimestampAndOffset,
    first_at_or_after,
    first_with_max_timestamp,
    last_of_batch_with_max_timestamp,
)
from broker_sim.log.producer_state import ProducerStateManager
from broker_sim.log.stored_batch import NO_TIMESTAMP, StoredBatch
from broker_sim.log.transaction_index import collect_aborted
from broker_sim.log.verification_states import verifies_transactions
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.records.batch_peek import MAGIC_V2, TRANSACTIONAL_FLAG_MASK
from protocol_specs.records.lone_batch import LoneBatch, RecordSet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from random import Random

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.config.release_behaviour import ReleaseBehaviour
    from broker_sim.config.topic_config import TopicConfig
    from broker_sim.log.producer_state import ProducerStateEntry
    from broker_sim.log.transaction_index import AbortedTransaction

__all__ = [
    "AppendOrigin",
    "OffsetOutOfRange",
    "RecordError",
    "RecordsRefused",
    "ReplicaLog",
    "StoredBatch",
    "TimestampAndOffset",
    "TruncationInfo",
    "UnexpectedAppendOffset",
]

UNBOUNDED: Final = 2**63 - 1
_CLIENT: Final = AppendOrigin.CLIENT
_new: Final = object.__new__
"""Creates a result in half the time of its constructor."""


@dataclass(slots=True, kw_only=True)
class TruncationInfo:
    """The result of a truncation: the old and new log end offset and the removed batches."""

    old_log_end_offset: int
    new_log_end_offset: int
    removed: list[StoredBatch] = field(default_factory=list)

    @property
    def truncated(self) -> bool:
        """True if the log end offset has changed."""
        return self.new_log_end_offset != self.old_log_end_offset


class ReplicaLog:
    """Batches in segments, between the log start offset and the log end offset."""

    __slots__ = (
        "_behaviour",
        "_random",
        "_segments",
        "config",
        "epochs",
        "first_dirty_offset",
        "follower_read",
        "high_watermark",
        "log_end_offset",
        "log_start_offset",
        "partition",
        "producers",
        "topic",
        "topic_partition",
    )

    def __init__(
        self,
        *,
        topic: str,
        partition: int,
        config: TopicConfig,
        broker_config: BrokerConfig,
        now_ms: int,
        random: Random | None = None,
    ) -> None:
        """Make an empty log; `random` draws the jitter of its segments' rolls where `segment.jitter.ms` is set."""
        self.topic = topic
        self.partition = partition
        self.topic_partition = TopicPartition(topic, partition)
        self.config = config
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.high_watermark = 0
        self.first_dirty_offset: int | None = None
        """The offset at which compaction continues: the log cleaner's checkpoint, None before its first round."""
        self.follower_read: tuple[tuple[int, ...], Any, int] | None = None
        """The last read of a follower: offsets and limits, data, bytes. The replicas of a partition mostly fetch from
        the same offset. None after a change other than an append, which moves the log end offset."""
        self._random = random
        self._behaviour = broker_config.behaviour
        self.epochs = LeaderEpochCache()
        check_interval_ms = broker_config["producer.id.expiration.check.interval.ms"]
        assert isinstance(check_interval_ms, int)
        self.producers = broker_config.part_types.of(ProducerStateManager)(
            self.topic_partition,
            expiration_ms=broker_config.producer_id_expiration_ms,
            expiration_check_interval_ms=check_interval_ms,
            now_ms=now_ms,
            behaviour=self._behaviour,
            verifies_transactions=verifies_transactions(broker_config),
        )
        self._segments = [self._new_segment(0, now_ms)]

    @property
    def behaviour(self) -> ReleaseBehaviour:
        """The switches of the broker's release."""
        return self._behaviour

    @property
    def offline(self) -> bool:
        """True if the log's directory has failed, so that nothing is written any more."""
        return False

    def use_release(self, behaviour: ReleaseBehaviour) -> None:
        """Be the log of a broker of another release."""
        self._behaviour = behaviour
        self.producers.use_release(behaviour)

    def set_config(self, config: TopicConfig) -> None:
        """Use a changed configuration of the topic from now on."""
        self.config = config

    @property
    def last_stable_offset(self) -> int:
        """The end of the log for read_committed consumers: everything below it is committed, aborted or plain.

        It is the start of the first transaction that is open, or whose marker is not replicated; else the high
        watermark.
        """
        unstable = self.producers.transactions.first_unstable_offset
        high_watermark = self.high_watermark
        if unstable >= high_watermark:
            return high_watermark
        return unstable if unstable >= self.log_start_offset else self._unstable_log_start()

    def _unstable_log_start(self) -> int:
        """Return the last stable offset of a transaction of which records were deleted."""
        offset = self.log_start_offset
        if self._behaviour.unstable_offsets_are_those_of_batches:
            for segment in self._segments[self._segment_index(offset) :]:
                index = segment.index_of(offset)
                if index < len(segment.batches):
                    return segment.batches[index].base_offset
        return offset

    def update_high_watermark(self, offset: int) -> None:
        """Set the high watermark, to which transactions are complete now. Mirrors updateHighWatermarkMetadata."""
        self.high_watermark = offset
        transactions = self.producers.transactions
        if transactions.unreplicated:
            transactions.high_watermark_moved(offset)

    @property
    def size_in_bytes(self) -> int:
        """The size of all batches."""
        return sum(segment.size for segment in self._segments)

    @property
    def segments(self) -> Sequence[LogSegment]:
        """All segments, oldest first; the last one is the active segment, which always exists."""
        return self._segments

    @property
    def segment_base_offsets(self) -> list[int]:
        """The base offset of each segment, oldest first; for the first one at least the log start offset."""
        return [max(segment.base_offset, self.log_start_offset) for segment in self._segments]

    def batches(self) -> Iterator[StoredBatch]:
        """Iterate over all batches, oldest first."""
        for segment in self._segments:
            yield from segment.batches

    # Appends.

    def append_as_leader(
        self,
        records: RecordSet,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin = _CLIENT,
        *,
        transaction_version: int = 0,
        guard: object | None = None,
    ) -> PartitionAppend:
        """Validate a record set, assign its offset and leader epoch, and append it.

        A record set without a complete batch, which only old versions of Produce allow, has offset -1 in the result. A
        retry of one of the producer's five latest batches is not stored again: the result has the stored batch's
        offset. `transaction_version` is that of the transaction which a marker ends. `guard` is that of the
        verification of a transaction which a client's or a group coordinator's batch begins.

        Raises:
            RecordsRefused: The records are invalid for this log or for their producer's state.
        """
        offset = self.log_end_offset
        config = self.config
        if config.magic != MAGIC_V2:
            return self._append_messages(records, now_ms=now_ms, origin=origin)
        batch: StoredBatch | None = None
        if isinstance(records, LoneBatch):
            batch = built_record_as_it_is(records, config, offset, leader_epoch, now_ms)
        elif origin is _CLIENT:
            batch = lone_record_as_it_is(records, config, offset, leader_epoch, now_ms)
        if batch is None:
            batch = validated(records, self.topic_partition, config, offset, leader_epoch, now_ms, origin)
            if batch is None:
                return PartitionAppend(self.topic_partition, log_start_offset=self.log_start_offset)
        # As in Kafka the epoch is assigned before the producer's state is checked: even if the batch is refused.
        if self.epochs.latest_epoch != leader_epoch:
            self.epochs.assign(leader_epoch, offset)
        segment = self._segments[-1]
        if segment.should_roll(config, batch, now_ms):
            self._check_segment_bytes(batch)
            segment = self.roll(offset, now_ms)
        if batch.producer_id >= 0:
            duplicate = self._check_producer(batch, origin, transaction_version, guard, now_ms)
            if duplicate is not None:
                return duplicate
        segment.append(batch)
        if batch.producer_id >= 0:
            aborted = self.producers.update(batch)
            if aborted is not None:
                segment.append_aborted(aborted)
        if batch.max_timestamp < segment.age_timestamp_min:
            segment.modified_ms = now_ms
        last_offset = batch.last_offset
        self.log_end_offset = last_offset + 1
        result = _new(PartitionAppend)
        result.topic_partition = self.topic_partition
        result.base_offset = offset
        result.last_offset = last_offset
        if config.timestamp_type:
            result.log_append_time_ms = now_ms
        result.log_start_offset = self.log_start_offset
        result.records_count = batch.records_count
        result.batches = (batch,)
        return result

    def _append_messages(self, records: RecordSet, *, now_ms: int, origin: AppendOrigin) -> PartitionAppend:
        """Append to a log of magic 0 or 1: the messages of one record set stay together, without a leader epoch."""
        from broker_sim.log.message_set_assignment import assign_message_set

        config = self.config
        appended = assign_message_set(
            bytes(records) if isinstance(records, LoneBatch) else records,
            topic_partition=self.topic_partition,
            config=config,
            behaviour=self._behaviour,
            offset=self.log_end_offset,
            now_ms=now_ms,
            origin=origin,
        )
        if appended is None:
            return PartitionAppend(self.topic_partition, log_start_offset=self.log_start_offset)
        whole, messages = appended
        self._check_segment_bytes(whole)
        segment = self._segments[-1]
        if segment.should_roll(config, whole, now_ms):
            segment = self.roll(max(self.log_end_offset, whole.base_offset), now_ms)
        for message in messages:
            segment.append(message)
        if whole.max_timestamp < segment.age_timestamp_min:
            segment.modified_ms = now_ms
        self.log_end_offset = whole.next_offset
        return PartitionAppend(
            self.topic_partition,
            base_offset=whole.base_offset,
            last_offset=whole.last_offset,
            log_append_time_ms=now_ms if config.timestamp_type else -1,
            log_start_offset=self.log_start_offset,
            records_count=whole.records_count,
            batches=messages,
        )

    def _check_segment_bytes(self, batch: StoredBatch) -> None:
        if batch.size > self.config.segment_bytes:
            reason = (
                f"Message batch size is {batch.size} bytes in append to partition {self.topic_partition}, "
                f"which exceeds the maximum configured segment size of {self.config.segment_bytes}."
            )
            raise RecordsRefused(ErrorCode.RECORD_LIST_TOO_LARGE, reason, log_start_offset_known=False)

    def _check_producer(
        self, batch: StoredBatch, origin: AppendOrigin, transaction_version: int, guard: object | None, now_ms: int
    ) -> PartitionAppend | None:
        producers = self.producers
        producers.remove_expired(now_ms)
        if origin is not _CLIENT:
            if batch.is_control:
                producers.check_marker(batch, transaction_version)
            else:
                if batch.is_transactional and self._behaviour.coordinators_transactions_are_verified:
                    producers.check_verified(batch, guard)
                producers.check_of_coordinator(batch)
            return None
        known = producers.find_duplicate(
            batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.last_sequence
        )
        if known is None:
            if batch.attributes & TRANSACTIONAL_FLAG_MASK:
                producers.check_verified(batch, guard)
            producers.check(batch)
            return None
        return PartitionAppend(
            self.topic_partition,
            base_offset=known.first_offset,
            last_offset=known.last_offset,
            log_append_time_ms=known.timestamp,
            log_start_offset=self.log_start_offset,
            records_count=batch.records_count,
            duplicate=True,
        )

    def append_as_follower(self, batches: Sequence[StoredBatch], *, now_ms: int) -> None:
        """Append the leader's batches.

        Raises:
            UnexpectedAppendOffset: A batch starts below the log end offset.
        """
        epochs = self.epochs
        for batch in batches:
            if batch.base_offset < self.log_end_offset:
                raise UnexpectedAppendOffset(batch.base_offset, self.log_end_offset)
            if batch.leader_epoch != epochs.latest_epoch and batch.leader_epoch >= 0:
                epochs.assign(batch.leader_epoch, batch.base_offset)
            segment = self._segments[-1]
            if segment.should_roll(self.config, batch, now_ms):
                segment = self.roll(max(self.log_end_offset, batch.base_offset), now_ms)
            segment.append(batch)
            if batch.max_timestamp < segment.age_timestamp_min:
                segment.modified_ms = now_ms
            self.log_end_offset = batch.last_offset + 1
            if batch.producer_id >= 0:
                self.producers.remove_expired(now_ms)
                aborted = self.producers.update(batch)
                if aborted is not None:
                    segment.append_aborted(aborted)

    def _new_segment(self, base_offset: int, now_ms: int) -> LogSegment:
        config = self.config
        jitter_ms = min(config.segment_jitter_ms, config.segment_ms)
        return self._make_segment(
            base_offset,
            now_ms,
            roll_jitter_ms=self._random.randrange(jitter_ms) if jitter_ms and self._random is not None else 0,
            producer_snapshot=self.producers.snapshot(),
        )

    def _make_segment(
        self, base_offset: int, now_ms: int, *, roll_jitter_ms: int, producer_snapshot: Mapping[int, ProducerStateEntry]
    ) -> LogSegment:
        """Return an empty segment; a log with files overrides this method."""
        return LogSegment(
            base_offset, now_ms, self.config, roll_jitter_ms=roll_jitter_ms, producer_snapshot=producer_snapshot
        )

    def roll(self, base_offset: int, now_ms: int) -> LogSegment:
        """Close the active segment and start a new one; an active segment with the same base offset is replaced."""
        segment = self._new_segment(base_offset, now_ms)
        if self._segments[-1].base_offset == base_offset:
            self._segments.pop()
        self._segments.append(segment)
        return segment

    # Segments.

    def delete_segments(self, count: int, now_ms: int) -> int:
        """Delete the oldest segments and move the log start offset forward; roll a new one before the last is deleted.

        Mirrors UnifiedLog.deleteSegments, which returns the requested number of segments.
        """
        if not count:
            return 0
        if count == len(self._segments):
            self.roll(self.log_end_offset, now_ms)
        self.follower_read = None
        del self._segments[: min(count, len(self._segments) - 1)]
        self.maybe_increment_log_start_offset(self._segments[0].base_offset)
        return count

    def replace_segments(self, replacement: LogSegment, old: Sequence[LogSegment]) -> None:
        """Replace adjacent segments with the compacted segment that was made of them."""
        self.follower_read = None
        first = self._segments.index(old[0])
        self._segments[first : first + len(old)] = [replacement]

    # Reads.

    def read(
        self, offset: int, *, max_bytes: int, up_to: int = UNBOUNDED, at_least_one: bool = True, fragment: bool = False
    ) -> list[StoredBatch]:
        """Return complete batches of one segment: the one that holds `offset` and later ones that start below `up_to`.

        They have at most `max_bytes`; with `at_least_one` the first batch is returned even if it is larger. With
        `fragment` the beginning of the next batch fills the rest of `max_bytes`, as in responses of a real broker.

        Raises:
            OffsetOutOfRange: `offset` is below the log start offset or above the log end offset.
        """
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRange(offset, self.log_start_offset, self.log_end_offset)
        found: list[StoredBatch] = []
        if offset >= up_to or offset == self.log_end_offset:
            return found
        for segment in self._segments[self._segment_index(offset) :]:
            batches = segment.batches
            first = segment.index_of(offset)
            left = max_bytes
            for index in range(first, len(batches)):
                batch = batches[index]
                if batch.base_offset >= up_to:
                    break
                left -= batch.size
                if left < 0 and (found or not at_least_one):
                    if fragment and found and left + batch.size > 0:
                        found.append(batch.fragment(left + batch.size))
                    break
                found.append(batch)
            if found or first < len(batches):
                break
        return found

    def segment_base_offset(self, offset: int) -> int:
        """Return the base offset of the segment that holds an offset; of the active one for the log end offset."""
        return self._segments[self._segment_index(offset)].base_offset

    def batch_at(self, offset: int) -> StoredBatch | None:
        """Return the batch that holds an offset, None if the log has none."""
        batch = self.first_batch_from(offset) if self.log_start_offset <= offset < self.log_end_offset else None
        return batch if batch is not None and batch.base_offset <= offset else None

    def first_batch_from(self, offset: int) -> StoredBatch | None:
        """Return the batch that holds an offset, or else the next one; None if the log has none."""
        for segment in self._segments[self._segment_index(offset) :]:
            index = segment.index_of(offset)
            if index < len(segment.batches):
                return segment.batches[index]
        return None

    def aborted_transactions(self, fetch_offset: int, upper_bound_offset: int) -> list[AbortedTransaction]:
        """Return the aborted transactions that overlap with a range of offsets; the upper bound is exclusive."""
        first = self._segment_index(fetch_offset)
        return collect_aborted(self._segments[first:], fetch_offset, upper_bound_offset)

    def aborted_transactions_of_read(
        self, fetch_offset: int, batches: Sequence[StoredBatch]
    ) -> list[AbortedTransaction]:
        """Return the aborted transactions of a read, which a read_committed consumer needs to filter the batches.

        The upper bound is that of the offset index, so that the list may have transactions after the batches: also that
        of a read below the end of the log which had no batches. Mirrors LocalLog.addAbortedTransactions.
        """
        first_batch = batches[0] if batches else self.first_batch_from(fetch_offset)
        if first_batch is None:
            return []
        first = self._segment_index(first_batch.base_offset)
        segments = self._segments[first:]
        if not any(segment.aborted_transactions for segment in segments):
            return []
        size = 0
        for batch in batches:
            size += batch.size
        bound = segments[0].upper_bound_offset(fetch_offset, size)
        if bound is None:
            bound = segments[1].base_offset if len(segments) > 1 else self.log_end_offset
        return collect_aborted(segments, fetch_offset, bound)

    def earliest_offset(self) -> TimestampAndOffset:
        """Return the log start offset and its leader epoch (-1 if the epoch cache does not cover it)."""
        entries = self.epochs.entries
        known = bool(entries) and entries[0].start_offset <= self.log_start_offset
        return TimestampAndOffset(NO_TIMESTAMP, self.log_start_offset, entries[0].epoch if known else -1)

    def latest_offset(self) -> TimestampAndOffset:
        """Return the log end offset and the latest leader epoch (-1 if there is none)."""
        epoch = self.epochs.latest_epoch
        return TimestampAndOffset(NO_TIMESTAMP, self.log_end_offset, -1 if epoch is None else epoch)

    def offset_for_timestamp(self, timestamp: int) -> TimestampAndOffset | None:
        """Return the first record that is not older than a timestamp (>= 0), None if there is none."""
        return first_at_or_after(self._segments, timestamp, self.log_start_offset)

    def max_timestamp_offset(self) -> TimestampAndOffset | None:
        """Return the first record with the largest timestamp, None in a log without timestamps.

        For 3.7 return the last record of that record's batch, with the log's latest epoch.
        """
        if self._behaviour.max_timestamp_offset_is_the_records:
            return first_with_max_timestamp(self._segments)
        found = last_of_batch_with_max_timestamp(self._segments)
        latest = self.epochs.latest_epoch
        return found if found is None or latest is None else found._replace(leader_epoch=latest)

    def _segment_index(self, offset: int) -> int:
        segments = self._segments
        if offset >= segments[-1].base_offset:
            return len(segments) - 1
        return max(0, bisect_right(segments, offset, key=_base_offset) - 1)

    # Changes of the log start and log end offset.

    def maybe_increment_log_start_offset(self, offset: int) -> bool:
        """Move the log start offset forward, to that of DeleteRecords or of the leader; return True if it moved.

        Raises:
            OffsetOutOfRange: The offset is above the high watermark.
        """
        if offset <= self.log_start_offset:
            return False
        if offset > self.high_watermark:
            raise OffsetOutOfRange(offset, self.log_start_offset, self.high_watermark)
        self.log_start_offset = offset
        self.epochs.truncate_from_start(offset)
        self.producers.log_start_moved(offset)
        return True

    def truncate_to(self, offset: int) -> TruncationInfo:
        """Remove everything from `offset` on: records, epochs, producer states; lower the high watermark."""
        self.follower_read = None
        old = self.log_end_offset
        if offset >= old:
            self.epochs.truncate_from_end(offset)
            return TruncationInfo(old_log_end_offset=old, new_log_end_offset=old)
        if offset < self._segments[0].base_offset:
            return self.truncate_fully_and_start_at(offset)
        removed: list[StoredBatch] = []
        while self._segments[-1].base_offset > offset:
            removed[:0] = self._segments.pop().batches
        removed[:0] = self._segments[-1].truncate_to(offset)
        self.log_end_offset = offset
        self.log_start_offset = min(offset, self.log_start_offset)
        self.high_watermark = min(self.high_watermark, offset)
        self.epochs.truncate_from_end(offset)
        self.producers.truncate_and_reload(
            self._segments[-1],
            log_start_offset=self.log_start_offset,
            log_end_offset=offset,
            high_watermark=self.high_watermark,
        )
        self.producers.log_start_moved(self.log_start_offset)
        self._truncate_dirty_offset(offset)
        return TruncationInfo(old_log_end_offset=old, new_log_end_offset=offset, removed=removed)

    def truncate_fully_and_start_at(self, offset: int) -> TruncationInfo:
        """Remove everything and continue at another offset, which may be beyond the old end."""
        self.follower_read = None
        old = self.log_end_offset
        removed = list(self.batches())
        self.producers.reload({}, ())
        self.producers.keep_snapshots({})
        self._segments = [self._new_segment(offset, self._segments[-1].created_ms)]
        self.log_start_offset = self.log_end_offset = self.high_watermark = offset
        self.epochs.clear()
        self._truncate_dirty_offset(offset)
        return TruncationInfo(old_log_end_offset=old, new_log_end_offset=offset, removed=removed)

    def _truncate_dirty_offset(self, offset: int) -> None:
        """Lower the log cleaner's checkpoint to an offset. Mirrors LogCleaner.maybeTruncateCheckpoint."""
        if self.first_dirty_offset is not None and self.first_dirty_offset > offset:
            self.first_dirty_offset = offset


def _base_offset(segment: LogSegment) -> int:
    return segment.base_offset
