"""Reads the batches of a fetched partition as one set of columns. No class of Kafka does this.

The positions of the strings of all batches are computed together, and one copy packs them: batches of a few equal
records would otherwise cost more in calls than in bytes. Any other batch makes all be read one by one (`reader`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

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
from protocol_specs.records.record_reader import (
    MAX_DECOMPRESSED_BYTES,
    SAFE_BASE_MAX,
    raw_records,
    records_section,
)
from protocol_specs.records.record_set import read_any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol_specs.records.batch_peek import BatchHeader
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
    headers: list[BatchHeader] = []
    for batch in batches:
        if batch[MAGIC_OFFSET] != MAGIC_V2:
            return None
        header = peek_header(batch)
        if header.records_count <= 0 or max(abs(header.base_offset), abs(header.base_timestamp)) >= SAFE_BASE_MAX:
            return None
        headers.append(header)
    sections = _sections_in_place(batches, headers) or _joined_sections(batches, headers)
    table: list[tuple[int, ...]] = []
    first = 0
    for header, (start, end) in zip(headers, sections.places, strict=True):
        runs = find_runs(sections.data, header.records_count, start, end)
        if runs is None:
            return None
        offset = header.base_offset
        is_append_time = header.timestamp_type == TimestampType.LOG_APPEND_TIME
        time = header.max_timestamp if is_append_time else header.base_timestamp
        for run in runs:
            table.append(
                (
                    run.count,
                    first,
                    run.size,
                    run.start + run.timestamp,
                    run.timestamp_width,
                    run.start + run.key,
                    run.key_size,
                    run.start + run.value,
                    run.value_size,
                    offset,
                    time,
                    not is_append_time,
                )
            )
            first += run.count
            offset += run.count
    widths = list(dict.fromkeys(row[4] for row in table))
    return _columns(np.frombuffer(sections.data, np.uint8), np.array(table, np.int64).T, first, widths)


class _Sections(NamedTuple):
    """The decompressed records of batches: where those of each begin and end in `data`."""

    data: bytes
    places: list[tuple[int, int]]


def _sections_in_place(batches: Sequence[bytes | memoryview], headers: Sequence[BatchHeader]) -> _Sections | None:
    """Find the records in the response whose parts all batches are; None if they are not, or one is compressed."""
    whole = batches[0].obj if isinstance(batches[0], memoryview) else batches[0]
    if not isinstance(whole, bytes) or len(whole) > MAX_DECOMPRESSED_BYTES:
        return None
    first = _address(whole)
    places: list[tuple[int, int]] = []
    for batch, header in zip(batches, headers, strict=True):
        if header.is_compressed or (batch.obj if isinstance(batch, memoryview) else batch) is not whole:
            return None
        section = raw_records(batch, header)
        start = _address(section) - first
        places.append((start, start + len(section)))
    return _Sections(whole, places)


def _joined_sections(batches: Sequence[bytes | memoryview], headers: Sequence[BatchHeader]) -> _Sections:
    found: list[bytes] = []
    places: list[tuple[int, int]] = []
    place = 0
    for batch, header in zip(batches, headers, strict=True):
        section = records_section(batch, header, limit_bytes=MAX_DECOMPRESSED_BYTES)
        found.append(section)
        places.append((place, place + len(section)))
        place += len(section)
    return _Sections(b"".join(found), places)


def _address(data: bytes | memoryview) -> int:
    """Return where the bytes are in memory: a memoryview has no public position in its object."""
    address: int = np.frombuffer(data, np.uint8).__array_interface__["data"][0]
    return address


def _columns(data: Bytes, table: Any, total: int, widths: Sequence[int]) -> RecordColumns | None:
    """Make the columns of `total` records; the varints of their timestamp deltas have the given widths."""
    firsts, sizes, times_at, widths_of, keys_at, key_sizes, values_at, value_sizes, offsets, times, is_create_time = (
        np.repeat(table[1:], table[0], axis=1)
    )
    index = np.arange(total, dtype=np.int64) - firsts
    distance = index * sizes
    deltas = _deltas(data, times_at + distance, widths_of, widths)
    if deltas is None:
        return None
    return RecordColumns(
        offset=offsets + index,
        timestamp=times + deltas * is_create_time,
        key=StringColumn(data, keys_at + distance, key_sizes),
        value=StringColumn(data, values_at + distance, value_sizes),
        headers=HeadersColumn.none(total),
    )


def _deltas(data: Bytes, starts: Ints, widths_of: Ints, widths: Sequence[int]) -> Ints | None:
    """The timestamp deltas; None if a varint has another width than the first of its run."""
    if len(widths) == 1:
        raw = _varints(data, starts, widths[0])
    else:
        raw = np.empty(len(starts), np.int64)
        for width in widths:
            rows = np.flatnonzero(widths_of == width)
            of_width = _varints(data, starts[rows], width)
            if of_width is None:
                return None
            raw[rows] = of_width
    return None if raw is None else (raw >> 1) ^ -(raw & 1)


def _varints(data: Bytes, starts: Ints, width: int) -> Ints | None:
    """The unsigned varints from some starts; None if one has not `width` bytes."""
    found = np.zeros(len(starts), np.int64)
    for at in range(width):
        column = data[starts + at]
        if column.max() > 0x7F if at + 1 == width else column.min() < 0x80:
            return None
        found |= (column & 0x7F).astype(np.int64) << 7 * at
    return found
