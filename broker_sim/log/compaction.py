"""Compaction of one log. Mirrors LogCleanerManager.cleanableOffsets and Cleaner.

The dirty section runs from the end of the last round to the first uncleanable segment: the active one, one younger
than `min.compaction.lag.ms`, or one with unstable records. A first pass over it finds the last offset of each key. A
second pass rewrites every segment up to its end without the records that a later record of the same key replaces.
Offsets never change. The records of aborted transactions are removed, and a marker in the round after them, as if it
were a tombstone. The first round that reads a tombstone sets its delete horizon (KIP-534) to `delete.retention.ms`
from then; the first round after the horizon deletes it. The last batch of an active producer, and since 4.0 the last
batch of the round, remain as empty headers. A batch that keeps all its records remains the object that the other
replicas share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from broker_sim.log.cleaned_transactions import CleanedTransactions
from broker_sim.log.log_segment import LogSegment
from broker_sim.log.message_set_compaction import cleaned_message, tombstone_horizon_ms
from protocol_specs.records.batch_peek import MAGIC_OFFSET, MAGIC_V2, peek_header
from protocol_specs.records.record_batch import empty_batch, read_records
from protocol_specs.records.record_set import read_any
from protocol_specs.records.retained_batch import retained_batch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from broker_sim.log.replica_log import ReplicaLog
    from broker_sim.log.stored_batch import StoredBatch
    from protocol_specs.records.batch_peek import BatchHeader
    from protocol_specs.records.record_reader import Record

_LARGEST_RELATIVE_OFFSET: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LogToClean:
    """One log with its cleanable section, which ends where a segment begins. Mirrors LogToClean."""

    log: ReplicaLog
    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    needs_compaction_now: bool
    """True if a dirty record is older than `max.compaction.lag.ms`."""

    @property
    def total_bytes(self) -> int:
        """The bytes that the round would read."""
        return self.clean_bytes + self.cleanable_bytes

    @property
    def cleanable_ratio(self) -> float:
        """The dirty share of `total_bytes`."""
        return self.cleanable_bytes / self.total_bytes if self.total_bytes else 0.0

    @property
    def due(self) -> bool:
        """True if the log exceeds `min.cleanable.dirty.ratio` or has records older than `max.compaction.lag.ms`."""
        if not self.total_bytes:
            return False
        if self.needs_compaction_now and self.cleanable_bytes > 0:
            return True
        return self.cleanable_ratio > self.log.config.min_cleanable_dirty_ratio


def log_to_clean(log: ReplicaLog, now_ms: int) -> LogToClean:
    """Return the section of a log that compaction could clean now."""
    first_dirty = log.first_dirty_offset
    if first_dirty is None or not log.log_start_offset <= first_dirty <= log.log_end_offset:
        first_dirty = log.log_start_offset
    closed = _closed_segments_from(log, first_dirty)
    uncleanable = min(log.last_stable_offset, log.segments[-1].base_offset)
    lag_min_ms = log.config.min_compaction_lag_ms
    if lag_min_ms > 0:
        young = (segment.base_offset for segment in closed if segment.largest_timestamp > now_ms - lag_min_ms)
        uncleanable = min(uncleanable, next(young, uncleanable))
    uncleanable = max(first_dirty, uncleanable)
    first_timestamps = [segment.first_timestamp for segment in closed if segment.first_timestamp > 0]
    clean_until_ms = now_ms - log.config.max_compaction_lag_ms
    ends_in = next(iter(_closed_segments_from(log, uncleanable)), log.segments[-1])
    end = ends_in.base_offset
    return LogToClean(
        log=log,
        first_dirty_offset=first_dirty,
        first_uncleanable_offset=end,
        clean_bytes=sum(segment.size for segment in log.segments if segment.base_offset < first_dirty),
        cleanable_bytes=sum(segment.size for segment in _segments_between(log, min(first_dirty, end), end)),
        needs_compaction_now=bool(first_timestamps) and min(first_timestamps) < clean_until_ms,
    )


def clean(cleanable: LogToClean, now_ms: int) -> None:
    """Compact the log; the next round's dirty section begins where this one's ended."""
    log = cleanable.log
    end = cleanable.first_uncleanable_offset
    last_offsets = _last_offset_of_each_key(log, cleanable.first_dirty_offset, end)
    cleaner = _Cleaner(log, last_offsets, cleanable.first_dirty_offset, end, now_ms)
    for group in _grouped_by_size(_segments_between(log, 0, end), log, end):
        log.replace_segments(cleaner.cleaned(group), group)
    log.first_dirty_offset = end


def _segments_between(log: ReplicaLog, start: int, end: int) -> list[LogSegment]:
    """From the segment that holds `start` to the last one that begins before `end`. Mirrors LogSegments.values."""
    segments = log.segments
    if start >= end:
        return []
    return [
        segment
        for index, segment in enumerate(segments)
        if segment.base_offset < end and (index + 1 == len(segments) or segments[index + 1].base_offset > start)
    ]


def _closed_segments_from(log: ReplicaLog, start: int) -> list[LogSegment]:
    return _segments_between(log, start, log.segments[-1].base_offset)


def _last_offset_of_each_key(log: ReplicaLog, start: int, end: int) -> dict[bytes, int]:
    transactions = CleanedTransactions(log.aborted_transactions(start, end))
    last_offsets: dict[bytes, int] = {}
    for segment in _segments_between(log, start, end):
        for batch in segment.batches:
            if batch.is_control:
                transactions.control_batch_read(batch)
            elif not transactions.batch_is_aborted(batch) and batch.last_offset >= start:
                for record in read_any(batch.data):
                    if record.key is not None and record.offset >= start:
                        last_offsets[record.key] = record.offset
    return last_offsets


def _grouped_by_size(segments: Sequence[LogSegment], log: ReplicaLog, end: int) -> Iterator[list[LogSegment]]:
    """Yield groups of adjacent segments that fit into one segment. Mirrors Cleaner.groupSegmentsBySize."""
    config = log.config
    group: list[LogSegment] = []
    for index, segment in enumerate(segments):
        last_offset = segments[index + 1].base_offset - 1 if index + 1 < len(segments) else end - 1
        if group and (
            sum(each.size for each in group) + segment.size > config.segment_bytes
            or sum(each.offset_index_bytes for each in group) + segment.offset_index_bytes > config.segment_index_bytes
            or sum(each.time_index_bytes for each in group) + segment.time_index_bytes > config.segment_index_bytes
            or (segment.size and last_offset - group[0].base_offset > _LARGEST_RELATIVE_OFFSET)
        ):
            yield group
            group = []
        group.append(segment)
    if group:
        yield group


class _Cleaner:
    """One round over one log: decides batch by batch and record by record. Mirrors Cleaner.cleanInto."""

    def __init__(
        self, log: ReplicaLog, last_offsets: dict[bytes, int], first_dirty_offset: int, end: int, now_ms: int
    ) -> None:
        self._log = log
        self._tombstone_horizon_ms = tombstone_horizon_ms(
            log.segments, first_dirty_offset, log.config.delete_retention_ms
        )
        self._old_tombstones_stay = True
        self._last_offsets = last_offsets
        self._end = end
        self._now_ms = now_ms
        self._transactions = CleanedTransactions(log.aborted_transactions(0, end))

    def cleaned(self, group: Sequence[LogSegment]) -> LogSegment:
        """Return one segment with the retained records of a group."""
        first, last = group[0], group[-1]
        segment = LogSegment(
            first.base_offset, self._now_ms, self._log.config, producer_snapshot=first.producer_snapshot
        )
        for each in group:
            self._old_tombstones_stay = each.modified_ms > self._tombstone_horizon_ms
            for batch in each.batches:
                kept = self._cleaned(batch)
                if kept is not None:
                    segment.append(kept)
        for transaction in self._transactions.retained:
            segment.append_aborted(transaction)
        self._transactions.retained.clear()
        segment.modified_ms = last.modified_ms
        return segment

    def _cleaned(self, batch: StoredBatch) -> StoredBatch | None:
        if batch.data[MAGIC_OFFSET] != MAGIC_V2:
            horizon = None if self._old_tombstones_stay else self._now_ms
            return cleaned_message(batch, lambda record: self._stays(record, horizon))
        header = peek_header(batch.data)
        horizon = header.delete_horizon_ms
        if batch.is_control:
            discardable = self._transactions.control_batch_read(batch)
            discard = discardable and horizon is not None and horizon <= self._now_ms
        else:
            discardable = discard = self._transactions.batch_is_aborted(batch)
        records: list[Record] = []
        if not discard and batch.records_count:
            found = read_records(batch.data)
            records = found if batch.is_control else [each for each in found if self._stays(each, horizon)]
        if not records:
            if not self._must_leave_header(batch):
                return None
            return _emptied(batch, header) if batch.records_count else batch
        sets_horizon = horizon is None and (
            (batch.is_control and discardable) or any(each.value is None for each in records)
        )
        if len(records) == batch.records_count and not sets_horizon:
            return batch
        if sets_horizon:
            horizon = self._now_ms + self._log.config.delete_retention_ms
        return _with_records(batch, header, records, horizon)

    def _stays(self, record: Record, horizon: int | None) -> bool:
        if record.offset >= self._end:
            return True
        if record.key is None:
            return False
        if record.offset < self._last_offsets.get(record.key, -1):
            return False
        return record.value is not None or horizon is None or self._now_ms < horizon

    def _must_leave_header(self, batch: StoredBatch) -> bool:
        if batch.next_offset == self._end and self._log.behaviour.compaction_keeps_its_last_batch:
            return True
        producer = self._log.producers.active_producers.get(batch.producer_id)
        if producer is None:
            return False
        if producer.batches:
            return batch.last_offset == producer.batches[-1].last_offset
        return batch.is_control and batch.producer_epoch == producer.producer_epoch


def _emptied(batch: StoredBatch, header: BatchHeader) -> StoredBatch:
    data = empty_batch(header)
    return replace(batch, data=data, size=len(data), records_count=0)


def _with_records(
    batch: StoredBatch, header: BatchHeader, records: Sequence[Record], horizon: int | None
) -> StoredBatch:
    """The batch with fewer records, or with a delete horizon."""
    data = retained_batch(header, records, delete_horizon_ms=horizon)
    max_timestamp = peek_header(data).max_timestamp
    return replace(batch, data=data, size=len(data), max_timestamp=max_timestamp, records_count=len(records))
