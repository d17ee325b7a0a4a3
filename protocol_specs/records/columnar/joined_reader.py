"""Reads the batches of a fetched partition as one set of columns. No class of Kafka does this.

The positions of the strings of all batches are computed together, and one copy packs them: batches of a few equal
records would otherwise cost more in calls than in bytes. Any other batch makes all be read one by one (`reader`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.records.batch_peek import (
    MAGIC_OFFSET,
    MAGIC_V2,
    TimestampType,
    peek_header,
)
from protocol_specs.records.columnar.arrays import np
from protocol_specs.records.columnar.columns import HeadersColumn, RecordColumns, StringColumn, join_columns
from protocol_specs.records.columnar.reader import read_batch_columns
from protocol_specs.records.equal_records import find_runs
from protocol_specs.records.record_reader import MAX_DECOMPRESSED_BYTES, SAFE_BASE_MAX, records_section
from protocol_specs.records.record_set import read_any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol_specs.records.columnar.arrays import Bytes, Ints

__all__ = ["read_joined"]


def read_joined(batches: Sequence[bytes | memoryview]) -> RecordColumns:
    """Return all columns of all records. Raises the errors of read_batch_columns for the first invalid batch."""
    joined = _read_runs(batches) if batches else None
    return join_columns([_read_one(batch) for batch in batches]) if joined is None else joined


def _read_one(batch: bytes | memoryview) -> RecordColumns:
    if batch[MAGIC_OFFSET] == MAGIC_V2:
        return read_batch_columns(batch)
    return RecordColumns.of_records(read_any(batch))


def _read_runs(batches: Sequence[bytes | memoryview]) -> RecordColumns | None:
    """Read batches that consist of runs of equal records; None if one does not."""
    sections: list[bytes] = []
    table: list[tuple[int, ...]] = []
    place = 0
    for batch in batches:
        if batch[MAGIC_OFFSET] != MAGIC_V2:
            return None
        header = peek_header(batch)
        if header.records_count <= 0 or max(abs(header.base_offset), abs(header.base_timestamp)) >= SAFE_BASE_MAX:
            return None
        section = records_section(batch, header, limit_bytes=MAX_DECOMPRESSED_BYTES)
        runs = find_runs(section, header.records_count)
        if runs is None:
            return None
        offset = header.base_offset
        is_append_time = header.timestamp_type == TimestampType.LOG_APPEND_TIME
        time = header.max_timestamp if is_append_time else header.base_timestamp
        for run in runs:
            start = place + run.start
            table.append(
                (
                    run.count,
                    run.size,
                    start + run.timestamp,
                    run.timestamp_width,
                    start + run.key,
                    run.key_size,
                    start + run.value,
                    run.value_size,
                    offset,
                    time,
                    not is_append_time,
                )
            )
            offset += run.count
        sections.append(section)
        place += len(section)
    return _columns(np.frombuffer(b"".join(sections), np.uint8), np.array(table, np.int64).T)


def _columns(data: Bytes, table: Any) -> RecordColumns | None:
    counts, sizes, times_at, widths, keys_at, key_sizes, values_at, value_sizes, offsets, times, is_create_time = table
    total = int(counts.sum())
    index = np.arange(total, dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
    distance = index * np.repeat(sizes, counts)
    deltas = _deltas(data, np.repeat(times_at, counts) + distance, np.repeat(widths, counts))
    if deltas is None:
        return None
    return RecordColumns(
        offset=np.repeat(offsets, counts) + index,
        timestamp=np.repeat(times, counts) + deltas * np.repeat(is_create_time, counts),
        key=StringColumn(data, np.repeat(keys_at, counts) + distance, np.repeat(key_sizes, counts)),
        value=StringColumn(data, np.repeat(values_at, counts) + distance, np.repeat(value_sizes, counts)),
        headers=HeadersColumn.none(total),
    )


def _deltas(data: Bytes, starts: Ints, widths: Ints) -> Ints | None:
    """The timestamp deltas; None if a varint has another width than the first of its run."""
    raw = np.zeros(len(starts), np.int64)
    for at in range(int(widths.max())):
        rows = slice(None) if int(widths.min()) > at else np.flatnonzero(widths > at)
        bytes_here = data[starts[rows] + at].astype(np.int64)
        if np.any((bytes_here < 0x80) != (widths[rows] == at + 1)):
            return None
        raw[rows] |= (bytes_here & 0x7F) << 7 * at
    return (raw >> 1) ^ -(raw & 1)
