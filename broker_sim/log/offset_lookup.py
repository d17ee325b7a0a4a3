"""Offset lookups by timestamp, for ListOffsets. Mirrors UnifiedLog.fetchOffsetByTimestamp."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from broker_sim.log.stored_batch import NO_TIMESTAMP
from protocol_specs.records.record_set import read_any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.log.log_segment import LogSegment
    from broker_sim.log.stored_batch import StoredBatch


class TimestampAndOffset(NamedTuple):
    """A record's timestamp (-1 for lookups without one), its offset and the leader epoch of its batch."""

    timestamp: int
    offset: int
    leader_epoch: int


def first_at_or_after(
    segments: Sequence[LogSegment], timestamp: int, log_start_offset: int
) -> TimestampAndOffset | None:
    """Return the first record, in log order, whose timestamp is not below the given one."""
    for segment in segments:
        if segment.largest_timestamp < timestamp:
            continue
        for batch in segment.batches:
            if batch.max_timestamp < timestamp or batch.last_offset < log_start_offset:
                continue
            for record in read_any(batch.data):
                if record.timestamp >= timestamp and record.offset >= log_start_offset:
                    return TimestampAndOffset(record.timestamp, record.offset, batch.leader_epoch)
        # Kafka searches one segment only, the first whose largest timestamp is not below.
        return None
    return None


def first_with_max_timestamp(segments: Sequence[LogSegment]) -> TimestampAndOffset | None:
    """Return the first record with the log's largest timestamp (KIP-734)."""
    batch = _first_batch_with_max_timestamp(segments)
    if batch is None:
        return None
    for record in read_any(batch.data):
        if record.timestamp == batch.max_timestamp:
            return TimestampAndOffset(record.timestamp, record.offset, batch.leader_epoch)
    return None


def last_of_batch_with_max_timestamp(segments: Sequence[LogSegment]) -> TimestampAndOffset | None:
    """Return the last record of the first batch with the log's largest timestamp, as 3.x does."""
    batch = _first_batch_with_max_timestamp(segments)
    if batch is None:
        return None
    if batch.max_timestamp == NO_TIMESTAMP:
        # The time index has no entry then, and Kafka returns the segment's first offset.
        return TimestampAndOffset(NO_TIMESTAMP, batch.base_offset, batch.leader_epoch)
    return TimestampAndOffset(batch.max_timestamp, batch.last_offset, batch.leader_epoch)


def _first_batch_with_max_timestamp(segments: Sequence[LogSegment]) -> StoredBatch | None:
    segment = max(segments, key=_max_timestamp)
    return next((batch for batch in segment.batches if batch.max_timestamp == segment.max_timestamp), None)


def _max_timestamp(segment: LogSegment) -> int:
    return segment.max_timestamp
