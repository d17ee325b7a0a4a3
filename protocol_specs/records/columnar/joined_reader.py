"""Reads the batches of a fetched partition as one set of columns. No class of Kafka does this.

The positions of the strings of all batches are computed together, and one copy packs them: batches of a few equal
records would otherwise cost more in calls than in bytes. Any other batch makes all be read one by one (`reader`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from protocol_specs.records.batch_peek import (
    MAGIC_OFFSET,
    MAGIC_V2,
    TimestampType,
    peek_header,
)
from protocol_specs.records.columnar.arrays import np
from protocol_specs.records.columnar.columns import HeadersColumn, RecordColumns, StringColumn, join_columns
from protocol_specs.records.columnar.reader import read_batch_columns
from protocol_specs.records.equal_records import NULL_SIZE, find_runs
from protocol_specs.records.record_reader import (
    MAX_DECOMPRESSED_BYTES,
    SAFE_BASE_MAX,
    raw_records,
    records_section,
)
from protocol_specs.records.record_set import read_any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from protocol_specs.records.batch_peek import BatchHeader
    from protocol_specs.records.columnar.arrays import Bytes, Ints

__all__ = ["read_joined"]

_ONE_BYTE_NUMBERS: Final = np.array([raw >> 1 ^ -(raw & 1) for raw in range(0x80)], np.int64)
"""The numbers whose varints are one byte, by that byte."""


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
            # Where the first record of all would be if the run began with it.
            origin = run.start - first * run.size
            table.append(
                (
                    run.size,
                    origin + run.timestamp,
                    run.timestamp_width,
                    origin + run.key,
                    run.key_size,
                    origin + run.value,
                    run.value_size,
                    offset - first,
                    time,
                    not is_append_time,
                    run.count,
                )
            )
            first += run.count
            offset += run.count
    return _columns(np.frombuffer(sections.data, np.uint8), list(zip(*table, strict=True)), first)


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


def _columns(data: Bytes, runs: list[tuple[int, ...]], total: int) -> RecordColumns | None:
    """Make the columns of `total` records from the fields of their runs; None if a timestamp has another width."""
    *fields, counts = runs
    size, times_at, width, keys_at, key_size, values_at, value_size, offset, time, is_create = _spread(fields, counts)
    index = np.arange(total, dtype=np.int64)
    distance = index * size
    deltas = _deltas(data, distance + times_at, width, fields[2])
    if deltas is None:
        return None
    if is_create is not True:
        deltas *= is_create
    deltas += time
    values = distance + values_at
    # Null keys are nowhere.
    keys = values if isinstance(key_size, int) and key_size == NULL_SIZE else distance + keys_at
    return RecordColumns(
        offset=index + offset,
        timestamp=deltas,
        key=_strings(data, keys, key_size),
        value=_strings(data, values, value_size),
        headers=HeadersColumn.none(total),
    )


def _spread(fields: Sequence[tuple[int, ...]], counts: tuple[int, ...]) -> list[Any]:
    """Return the number of a field that all runs share, else an array of the numbers of all records."""
    varying = [field for field in fields if field.count(field[0]) < len(field)]
    if not varying:
        return [field[0] for field in fields]
    arrays = iter(np.array(varying, np.int64).repeat(counts, axis=1))
    return [field[0] if field.count(field[0]) == len(field) else next(arrays) for field in fields]


def _strings(data: Bytes, starts: Ints, size: int | Ints) -> StringColumn:
    return StringColumn.of_equal(data, starts, size) if isinstance(size, int) else StringColumn(data, starts, size)


def _deltas(data: Bytes, starts: Ints, width: int | Ints, widths: Iterable[int]) -> Ints | None:
    """The timestamp deltas; None if a varint has another width than the first of its run."""
    if isinstance(width, int):
        return _varlongs(data, starts, width)
    deltas = np.empty(len(starts), np.int64)
    for each in dict.fromkeys(widths):
        rows = np.flatnonzero(width == each)
        of_width = _varlongs(data, starts[rows], each)
        if of_width is None:
            return None
        deltas[rows] = of_width
    return deltas


def _varlongs(data: Bytes, starts: Ints, width: int) -> Ints | None:
    """The varlongs from some starts; None if one has not `width` bytes."""
    column = data[starts]
    if width == 1:
        return _ONE_BYTE_NUMBERS[column] if column.tobytes().isascii() else None
    raw = np.zeros(len(starts), np.int64)
    for at in range(width):
        column = data[starts + at]
        if column.max() > 0x7F if at + 1 == width else column.min() < 0x80:
            return None
        raw |= (column & 0x7F).astype(np.int64) << 7 * at
    return (raw >> 1) ^ -(raw & 1)
