"""Compaction of messages of magic 0 and 1. Mirrors MemoryRecords.filterTo for legacy batches, and before 0.11
Cleaner.cleanInto with its compressMessages.

A wrapper is rewritten without its deleted messages; offsets do not change, and a wrapper without messages is deleted.
Tombstones have no delete horizon of their own: the modification time of their segment decides when they are deleted.
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
    """Return the time limit: tombstones stay in segments modified after it, and 0 keeps all before the first round."""
    clean = [segment for segment in segments if segment.base_offset < first_dirty_offset]
    return clean[-1].modified_ms - delete_retention_ms if clean else 0


def cleaned_message(batch: StoredBatch, stays: Callable[[Record], bool]) -> StoredBatch | None:
    """Return the message or wrapper with its retained messages; None if none is retained."""
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
