"""Reads the records of a batch as tuples between given values. The same records as DefaultRecord.readFrom.

Runs of equal records are read by strided slices; any other batch goes to record_reader, which also makes the errors.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.records.batch_peek import TimestampType, peek_header
from protocol_specs.records.equal_records import begins_with_equal_sizes, find_runs
from protocol_specs.records.record_reader import (
    MAX_DECOMPRESSED_BYTES,
    SAFE_BASE_MAX,
    counted_section,
    read_section_rows,
)
from protocol_specs.records.record_runs import timestamp_columns, zigzag_deltas

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from protocol_specs.records.batch_peek import BatchHeader
    from protocol_specs.records.equal_records import Run

__all__ = ["read_rows"]

WORTH_RECORDS: Final = 24
"""Runs are not searched in a batch of fewer records: the search would cost more than it saves."""


def read_rows(
    batch: bytes | memoryview,
    *,
    before: tuple[object, ...] = (),
    after: tuple[object, ...] = (),
    make: Callable[[tuple[Any, ...]], Any] | None = None,
    limit_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> list[Any]:
    """Read the records of the batch at the start of the buffer; each row is `make((*before, ..., *after))`.

    Between them are offset, timestamp, key, value and headers; without `make` a row is that tuple. Raises the errors of
    read_records.
    """
    header = peek_header(batch)
    section = counted_section(batch, header, limit_bytes=limit_bytes)
    if header.records_count >= WORTH_RECORDS and begins_with_equal_sizes(section):
        rows = _rows_of_runs(section, header, before, after, make)
        if rows is not None:
            return rows
    tuples = [
        (*before, offset, timestamp, key, value, headers, *after)
        for offset, timestamp, key, value, headers, _ in read_section_rows(section, header)
    ]
    return tuples if make is None else list(map(make, tuples))


def _rows_of_runs(
    section: bytes,
    header: BatchHeader,
    before: tuple[object, ...],
    after: tuple[object, ...],
    make: Callable[[tuple[Any, ...]], Any] | None,
) -> list[Any] | None:
    """Read records that are in runs; None if some are not."""
    if max(abs(header.base_offset), abs(header.base_timestamp)) >= SAFE_BASE_MAX:
        return None
    runs = find_runs(section, header.records_count)
    if runs is None:
        return None
    rows: list[Any] = []
    offset = header.base_offset
    is_append_time = header.timestamp_type == TimestampType.LOG_APPEND_TIME
    for run in runs:
        columns = timestamp_columns(section, run.start + run.timestamp, run.size, run.count, run.timestamp_width)
        if len(columns[0]) < run.count:
            return None
        if is_append_time:
            times: Iterable[int] = repeat(header.max_timestamp, run.count)
        else:
            base = header.base_timestamp
            times = [base + delta for delta in zigzag_deltas(columns)]
        keys = _strings(section, run, run.key, run.key_size)
        values = _strings(section, run, run.value, run.value_size)
        offsets = range(offset, offset + run.count)
        tuples = zip(*map(repeat, before), offsets, times, keys, values, repeat(()), *map(repeat, after), strict=False)
        # zip uses one tuple again and again while `make` copies it.
        rows += tuples if make is None else map(make, tuples)
        offset += run.count
    return rows


def _strings(section: bytes, run: Run, place: int, size: int) -> Iterable[bytes | None]:
    if size < 0:
        return repeat(None, run.count)
    first = run.start + place
    return [section[start : start + size] for start in range(first, first + run.count * run.size, run.size)]
