"""Reads the records of a batch as tuples, faster than as objects. The same records as DefaultRecord.readFrom.

Runs of equal records are read by strided slices, records of short varints without headers by one loop; all others go
to record_reader, so that results and errors are the same.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from protocol_specs.records.batch_peek import TimestampType, peek_header
from protocol_specs.records.equal_records import find_runs
from protocol_specs.records.record_reader import MAX_DECOMPRESSED_BYTES, read_records, records_section

if TYPE_CHECKING:
    from collections.abc import Iterable

    from protocol_specs.records.batch_builder import Header
    from protocol_specs.records.batch_peek import BatchHeader
    from protocol_specs.records.equal_records import Run

__all__ = ["Row", "read_rows"]

Row: TypeAlias = "tuple[int, int, bytes | None, bytes | None, tuple[Header, ...]]"
"""Offset, timestamp, key, value and headers of a record."""

_TWO_BYTES_END: Final = 1 << 14
_SAFE_BASE_MAX: Final = 1 << 62
_ZIGZAG: Final = [(raw >> 1) ^ -(raw & 1) for raw in range(128)]


def read_rows(
    batch: bytes | memoryview,
    *,
    before: tuple[object, ...] = (),
    after: tuple[object, ...] = (),
    limit_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> list[Any]:
    """Read the records of the batch at the start of the buffer; each row is `(*before, *Row, *after)`.

    Raises the errors of read_records.
    """
    header = peek_header(batch)
    is_usual = header.records_count > 0 and abs(header.base_offset) < _SAFE_BASE_MAX
    rows: list[Row] | None = None
    if is_usual and abs(header.base_timestamp) < _SAFE_BASE_MAX:
        section = records_section(batch, header, limit_bytes=limit_bytes)
        runs = find_runs(section, header.records_count)
        if runs is not None:
            found = _rows_of_runs(section, header, runs, before, after)
            if found is not None:
                return found
        else:
            rows = _small_rows(section, header)
    if rows is None:
        rows = [
            (one.offset, one.timestamp, one.key, one.value, one.headers)
            for one in read_records(batch, limit_bytes=limit_bytes)
        ]
    return [(*before, *row, *after) for row in rows] if before or after else rows


def _rows_of_runs(
    section: bytes, header: BatchHeader, runs: list[Run], before: tuple[object, ...], after: tuple[object, ...]
) -> list[Any] | None:
    rows: list[Any] = []
    offset = header.base_offset
    is_append_time = header.timestamp_type == TimestampType.LOG_APPEND_TIME
    for run in runs:
        if is_append_time:
            times: Iterable[int] = repeat(header.max_timestamp, run.count)
        else:
            deltas = _deltas(section, run)
            if deltas is None:
                return None
            base = header.base_timestamp
            times = [base + delta for delta in deltas]
        keys = _strings(section, run, run.key, run.key_size)
        values = _strings(section, run, run.value, run.value_size)
        offsets = range(offset, offset + run.count)
        rows += zip(*map(repeat, before), offsets, times, keys, values, repeat(()), *map(repeat, after), strict=False)
        offset += run.count
    return rows


def _strings(section: bytes, run: Run, place: int, size: int) -> Iterable[bytes | None]:
    if size < 0:
        return repeat(None, run.count)
    first = run.start + place
    return [section[start : start + size] for start in range(first, first + run.count * run.size, run.size)]


def _deltas(section: bytes, run: Run) -> list[int] | None:
    """The timestamp deltas of a run; None if one has another width than the first."""
    raws: list[int] = []
    for at in range(run.timestamp_width):
        first = run.start + run.timestamp + at
        column = section[first : first + (run.count - 1) * run.size + 1 : run.size]
        if at < run.timestamp_width - 1:
            if min(column) < 0x80:
                return None
        elif not column.isascii():
            return None
        if at == 0 and run.timestamp_width == 1:
            return [_ZIGZAG[byte] for byte in column]
        shift = 7 * at
        raws = (
            [byte & 0x7F for byte in column]
            if at == 0
            else [raw | (byte & 0x7F) << shift for raw, byte in zip(raws, column, strict=True)]
        )
    return [(raw >> 1) ^ -(raw & 1) for raw in raws]


def _small_rows(data: bytes, header: BatchHeader) -> list[Row] | None:
    """Read records of varints of at most two bytes without headers; None if there are others."""
    rows: list[Row] = []
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    append_time = header.max_timestamp if header.timestamp_type == TimestampType.LOG_APPEND_TIME else None
    position = 0
    try:
        for _ in range(header.records_count):
            length = data[position]
            position += 1
            if length > 127:
                length += (data[position] << 7) - 128
                position += 1
            stop = position + (length >> 1)
            timestamp = data[position + 1]
            position += 2
            if timestamp > 127:
                timestamp += (data[position] << 7) - 128
                position += 1
            offset = data[position]
            position += 1
            if offset > 127:
                offset += (data[position] << 7) - 128
                position += 1
            key_size = data[position]
            position += 1
            if key_size > 127:
                key_size += (data[position] << 7) - 128
                position += 1
            key = value = None
            if not key_size & 1:
                key = data[position : position + (key_size >> 1)]
                position += key_size >> 1
            value_size = data[position]
            position += 1
            if value_size > 127:
                value_size += (data[position] << 7) - 128
                position += 1
            if not value_size & 1:
                value = data[position : position + (value_size >> 1)]
                position += value_size >> 1
            if (length | timestamp | offset | key_size | value_size) >= _TWO_BYTES_END or data[position]:
                return None
            position += 1
            if position != stop or (length | timestamp | offset) & 1:
                return None
            time = base_timestamp + (timestamp >> 1) if append_time is None else append_time
            rows.append((base_offset + (offset >> 1), time, key, value, ()))
    except IndexError:
        return None
    return rows if position == len(data) else None
