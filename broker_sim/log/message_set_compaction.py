"""Compaction of messages of magic 0 and 1. Mirrors MemoryRecords.filterTo for legacy batches, and before 0.11
Cleaner.cleanInto with its compressMessages.

A wrapper is written anew without the messages that go; offsets stay, and nothing is left of a wrapper without any.
Tombstones have no delete horizon of their own: the time of a segment's last change says whether they stay.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from protocol_specs.records.batch_peek import TimestampType
from protocol_specs.records.message_peek import peek_message
from protocol_specs.records.message_set_builder import MessageSetBuilder
from protocol_specs.records.record_set import read_any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_sim.log.log_segment import LogSegment
    from broker_sim.log.stored_batch import StoredBatch
    from protocol_specs.records.record_reader import Record

__all__ = ["cleaned_message", "tombstone_horizon_ms"]


def tombstone_horizon_ms(segments: Sequence[LogSegment], first_dirty_offset: int, delete_retention_ms: int) -> int:
    """Tombstones of segments that were changed after it stay: all, before a first round has cleaned any."""
    clean = [segment for segment in segments if segment.base_offset < first_dirty_offset]
    return clean[-1].modified_ms - delete_retention_ms if clean else 0


def cleaned_message(batch: StoredBatch, stays: Callable[[Record], bool]) -> StoredBatch | None:
    """The message or wrapper with what stays of it; None where nothing does."""
    found = read_any(batch.data)
    kept = [record for record in found if stays(record)]
    if len(kept) == len(found):
        return batch
    if not kept:
        return None
    header = peek_message(batch.data)
    builder = MessageSetBuilder(
        magic=header.magic,
        codec=header.codec,
        timestamp_type=header.timestamp_type or TimestampType.CREATE_TIME,
        log_append_time=header.timestamp,
        base_offset=kept[0].offset,
    )
    for record in kept:
        builder.append_with_offset(record.offset, record.timestamp, record.key, record.value)
    data = builder.build()
    return replace(
        batch,
        data=data,
        base_offset=kept[0].offset,
        last_offset=kept[-1].offset,
        max_timestamp=peek_message(data).max_timestamp,
        size=len(data),
        records_count=len(kept),
    )
