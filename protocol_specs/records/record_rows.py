"""Reads the records of a batch as tuples between given values, in portions. The same records as DefaultRecord.readFrom.

Runs of equal records are read by strided slices; any other batch goes to record_reader, which also makes the errors.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from protocol_specs.records.batch_peek import LOG_OVERHEAD, MAGIC_OFFSET, MAGIC_V2, TimestampType, peek_header
from protocol_specs.records.equal_records import begins_with_equal_sizes, find_runs
from protocol_specs.records.message_peek import MAGIC_V0, RECORD_OVERHEAD_V0, RECORD_OVERHEAD_V1
from protocol_specs.records.record_reader import (
    MAX_DECOMPRESSED_BYTES,
    SAFE_BASE_MAX,
    counted_section,
    read_section_rows,
)
from protocol_specs.records.record_runs import timestamp_columns, zigzag_deltas
from protocol_specs.records.record_set import read_any
from protocol_specs.records.varints import decode_varint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from protocol_specs.records.batch_peek import BatchHeader
    from protocol_specs.records.equal_records import Run

__all__ = ["RowPortion", "RowReader", "read_rows"]

WORTH_RECORDS: Final = 40
"""Runs are not searched in a batch of fewer records: the search would cost more than it saves."""
_PORTION_RECORDS: Final = 500
"""Strings that one struct call unpacks: the struct module keeps the format of each number."""


@dataclass(slots=True, kw_only=True)
class _MeasuredRun:
    """A run with the columns of its timestamps; those of append time have none."""

    run: Run
    first_offset: int
    columns: list[bytes] | None


class RowPortion:
    """Some rows of a batch, which are made when they are read first: perhaps on another thread."""

    __slots__ = ("_place", "_ranges", "_reader", "_rows", "count", "next_offset", "size_bytes")

    def __init__(
        self,
        reader: RowReader,
        ranges: list[tuple[_MeasuredRun, int, int]],
        rows: list[Any],
        *,
        place: int,
        next_offset: int,
        size_bytes: int,
    ) -> None:
        self._reader = reader
        self._ranges = ranges
        self._rows = rows
        self._place = place
        self.count = len(rows) if rows else sum(end - place for _, place, end in ranges)
        self.next_offset = next_offset
        """The offset after the last row."""
        self.size_bytes = size_bytes
        """The bytes of the records, as DefaultRecord.sizeInBytes counts them: decompressed."""

    def rows(self) -> list[Any]:
        """Return the rows."""
        return [*self._rows, *self._reader.rows_of(self._ranges)] if self._ranges else self._rows

    def sizes(self) -> list[int]:
        """Return the bytes of each record, as in `size_bytes`."""
        if self._ranges:
            return [measured.run.size for measured, place, end in self._ranges for _ in range(place, end)]
        return self._reader.sizes_of_rows(self._place, self._place + self.count)


class RowReader:
    """Reads the batch or message at the start of a buffer; each row is `(*before, ..., *after)`, as `make` returns it.

    Between them are offset, timestamp, key, value and headers. All records are checked before the first one is read.
    """

    __slots__ = (
        "_after",
        "_before",
        "_header",
        "_make",
        "_message_overhead",
        "_next",
        "_place",
        "_rows",
        "_runs",
        "_section",
        "_short_times",
        "_skipped",
    )

    def __init__(
        self,
        batch: bytes | memoryview,
        *,
        before: tuple[object, ...] = (),
        after: tuple[object, ...] = (),
        make: Callable[[tuple[Any, ...]], Any] = tuple,
        first_offset: int | None = None,
        limit_bytes: int = MAX_DECOMPRESSED_BYTES,
    ) -> None:
        """Leave out the records before `first_offset`. Raises the errors of read_any."""
        self._before = before
        self._after = after
        self._make = make
        self._rows: list[Any] = []
        self._runs: list[_MeasuredRun] | None = None
        self._next = self._place = 0
        self._short_times: list[int] | None = None
        self._section = b""
        self._message_overhead = 0
        if batch[MAGIC_OFFSET] != MAGIC_V2:
            self._message_overhead = LOG_OVERHEAD + (
                RECORD_OVERHEAD_V0 if batch[MAGIC_OFFSET] == MAGIC_V0 else RECORD_OVERHEAD_V1
            )
            found = read_any(batch, limit_bytes=limit_bytes)
            self._take_rows(
                ((one.offset, one.timestamp, one.key, one.value, one.headers) for one in found), first_offset
            )
            return
        self._header = header = peek_header(batch)
        self._section = section = counted_section(batch, header, limit_bytes=limit_bytes)
        if header.records_count >= WORTH_RECORDS and begins_with_equal_sizes(section):
            self._runs = _measured_runs(section, header)
        if self._runs is None:
            self._take_rows((row[:-1] for row in read_section_rows(section, header)), first_offset)
        elif first_offset is not None:
            self._skip(first_offset - header.base_offset)

    def portion(self, count_max: int) -> RowPortion:
        """Return up to `count_max` further rows; none after the last."""
        at_offset = len(self._before)
        if self._runs is None:
            rows = self._rows[self._next : self._next + count_max]
            place, end = self._next, self._next + len(rows)
            # The walk over all records costs too much where the sum is known.
            is_whole = not self._message_overhead and len(rows) == self._header.records_count
            size_bytes = len(self._section) if is_whole else sum(self.sizes_of_rows(place, end))
            self._next = end
            next_offset = rows[-1][at_offset] + 1 if rows else 0
            return RowPortion(self, [], rows, place=place, next_offset=next_offset, size_bytes=size_bytes)
        ranges = []
        next_offset = 0
        while self._next < len(self._runs) and count_max > 0:
            measured = self._runs[self._next]
            place, end = self._place, min(self._place + count_max, measured.run.count)
            ranges.append((measured, place, end))
            count_max -= end - place
            next_offset = measured.first_offset + end
            self._place = end
            if end == measured.run.count:
                self._next += 1
                self._place = 0
        size_bytes = sum((end - place) * measured.run.size for measured, place, end in ranges)
        return RowPortion(self, ranges, [], place=0, next_offset=next_offset, size_bytes=size_bytes)

    @property
    def is_read(self) -> bool:
        """True if no row is left."""
        return self._next >= len(self._rows if self._runs is None else self._runs)

    def rows_of(self, ranges: Iterable[tuple[_MeasuredRun, int, int]]) -> list[Any]:
        """Make the rows of runs from a place to an end."""
        rows: list[Any] = []
        for measured, first, end in ranges:
            for place in range(first, end, _PORTION_RECORDS):
                # zip uses one tuple again and again while `make` copies it.
                rows += map(self._make, self._read(measured, place, min(place + _PORTION_RECORDS, end)))
        return rows

    def sizes_of_rows(self, first: int, end: int) -> list[int]:
        """Return the bytes of each record from one place to another, of a batch without runs."""
        if self._message_overhead:
            key = len(self._before) + 2
            return [
                self._message_overhead + sum(len(row[at]) for at in (key, key + 1) if row[at] is not None)
                for row in self._rows[first:end]
            ]
        position, sizes = 0, []
        for _ in range(self._skipped + end):
            length, body = decode_varint(self._section, position)
            sizes.append(body + length - position)
            position = body + length
        return sizes[self._skipped + first :]

    # Details

    def _take_rows(self, rows: Iterable[tuple[Any, ...]], first_offset: int | None) -> None:
        before, after = self._before, self._after
        made = [(*before, *row, *after) for row in rows]
        place = len(before)
        self._skipped = 0 if first_offset is None else sum(row[place] < first_offset for row in made)
        self._rows = list(map(self._make, made[self._skipped :]))

    def _skip(self, count: int) -> None:
        assert self._runs is not None
        while count > 0 and self._next < len(self._runs):
            here = self._runs[self._next].run.count
            if count < here:
                self._place = count
                return
            count -= here
            self._next += 1

    def _read(self, measured: _MeasuredRun, place: int, end: int) -> Iterator[tuple[Any, ...]]:
        """Read the records of a run from `place` to `end`."""
        section, run, header = self._section, measured.run, self._header
        if measured.columns is None:
            times: Iterable[int] = repeat(header.max_timestamp)
        else:
            times = self._times([column[place:end] for column in measured.columns])
        count = end - place
        start = run.start + place * run.size
        keys = _strings(section, start + run.key, run.key_size, run.size, count)
        values = _strings(section, start + run.value, run.value_size, run.size, count)
        offsets = range(measured.first_offset + place, measured.first_offset + end)
        return zip(
            *map(repeat, self._before),
            offsets,
            times,
            keys,
            values,
            repeat(()),
            *map(repeat, self._after),
            strict=False,
        )

    def _times(self, columns: list[bytes]) -> Iterable[int]:
        """The timestamps whose deltas are zigzag varints of these columns; few are different in one byte."""
        base = self._header.base_timestamp
        if len(columns) > 1:
            return [base + delta for delta in zigzag_deltas(columns)]
        if self._short_times is None:
            self._short_times = [base + (raw >> 1 ^ -(raw & 1)) for raw in range(0x80)]
        return map(self._short_times.__getitem__, columns[0])


def read_rows(
    batch: bytes | memoryview,
    *,
    before: tuple[object, ...] = (),
    after: tuple[object, ...] = (),
    make: Callable[[tuple[Any, ...]], Any] = tuple,
    limit_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> list[Any]:
    """Read all records of the batch or message at the start of the buffer. Raises the errors of read_any."""
    return RowReader(batch, before=before, after=after, make=make, limit_bytes=limit_bytes).portion(sys.maxsize).rows()


def _measured_runs(section: bytes, header: BatchHeader) -> list[_MeasuredRun] | None:
    """Find the runs that all records are in; None if some are not."""
    if max(abs(header.base_offset), abs(header.base_timestamp)) >= SAFE_BASE_MAX:
        return None
    runs = find_runs(section, header.records_count)
    if runs is None:
        return None
    found = []
    offset = header.base_offset
    is_append_time = header.timestamp_type == TimestampType.LOG_APPEND_TIME
    for run in runs:
        columns = timestamp_columns(section, run.start + run.timestamp, run.size, run.count, run.timestamp_width)
        if len(columns[0]) < run.count:
            return None
        found.append(_MeasuredRun(run=run, first_offset=offset, columns=None if is_append_time else columns))
        offset += run.count
    return found


def _strings(section: bytes, first: int, size: int, distance: int, count: int) -> Iterable[bytes | None]:
    """Unpack strings of one size that begin `distance` bytes after each other."""
    if size < 0:
        return repeat(None)
    return struct.unpack_from(f"{size}s" + f"{distance - size}x{size}s" * (count - 1), section, first)
