"""The entries of `.index` and `.timeindex` files. Mirrors OffsetIndex and TimeIndex.

An offset index entry is the last offset of a batch, relative to the segment's base offset, and the byte at which the
batch begins. A time index entry is the largest timestamp so far and the last offset of the batch that has it.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from broker_sim.log.stored_batch import StoredBatch

OFFSET_ENTRY: Final = struct.Struct(">ii")
TIME_ENTRY: Final = struct.Struct(">qi")


class OffsetIndexEntry(NamedTuple):
    """Where the batch that ends at an offset begins."""

    relative_offset: int
    position: int


class TimeIndexEntry(NamedTuple):
    """The largest timestamp up to an offset."""

    timestamp: int
    relative_offset: int


class SegmentIndexes(NamedTuple):
    """Both indexes of a segment; the time index without the entry that closing it adds."""

    offsets: list[OffsetIndexEntry]
    times: list[TimeIndexEntry]


def parse_offset_index(data: bytes, log_size: int) -> list[OffsetIndexEntry] | None:
    """Return the entries, None if they cannot be those of a log of that size: the index has to be rebuilt."""
    if len(data) % OFFSET_ENTRY.size:
        return None
    entries = [OffsetIndexEntry(*entry) for entry in OFFSET_ENTRY.iter_unpack(data)]
    if not _grow(entry.relative_offset for entry in entries) or not _grow(entry.position for entry in entries):
        return None
    return entries if not entries or entries[-1].position < log_size else None


def parse_time_index(data: bytes) -> list[TimeIndexEntry] | None:
    """Return the entries, None if they are invalid: the index has to be rebuilt."""
    if len(data) % TIME_ENTRY.size:
        return None
    entries = [TimeIndexEntry(*entry) for entry in TIME_ENTRY.iter_unpack(data)]
    offsets = [entry.relative_offset for entry in entries]
    grows = _grow(entry.timestamp for entry in entries) and all(offset >= 0 for offset in offsets)
    return entries if grows and offsets == sorted(offsets) else None


def index_batches(batches: Iterable[StoredBatch], base_offset: int, interval_bytes: int) -> SegmentIndexes:
    """Return the entries of both indexes for batches, one per `interval_bytes` at most. Mirrors LogSegment.recover."""
    indexes = SegmentIndexes([], [])
    position = last_indexed = 0
    timestamp = offset = -1
    for batch in batches:
        if batch.max_timestamp > timestamp:
            timestamp, offset = batch.max_timestamp, batch.last_offset
        if position - last_indexed > interval_bytes:
            last_indexed = position
            indexes.offsets.append(OffsetIndexEntry(batch.last_offset - base_offset, position))
            if timestamp > (indexes.times[-1].timestamp if indexes.times else -1):
                indexes.times.append(TimeIndexEntry(timestamp, offset - base_offset))
        position += batch.size
    return indexes


def offset_index_to_bytes(entries: Sequence[OffsetIndexEntry]) -> bytes:
    """The whole file."""
    return b"".join(OFFSET_ENTRY.pack(*entry) for entry in entries)


def time_index_to_bytes(entries: Sequence[TimeIndexEntry]) -> bytes:
    """The whole file."""
    return b"".join(TIME_ENTRY.pack(*entry) for entry in entries)


def _grow(numbers: Iterable[int]) -> bool:
    last = -1
    for number in numbers:
        if number <= last:
            return False
        last = number
    return True
