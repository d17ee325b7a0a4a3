"""Reads batches of magic 2 by the column. The same records as DefaultRecord.readFrom, without an object per record.

The records of a batch are found by their lengths alone: a run of equal ones by one strided slice, others one by one.
Then each field is read for all records at once, and a record is valid if its fields end where the next one begins.
Batches of nearly equal records take a fast path (`columnar.runs`). Unusual batches (few records, varints of more than
eight bytes, many headers, bytes that do not fit) go to record_reader, so that results and errors are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.errors import DecompressionLimitExceeded, MalformedVarint
from protocol_specs.records.batch_peek import TimestampType, iterate_batches, peek_header
from protocol_specs.records.columnar.arrays import np
from protocol_specs.records.columnar.columns import (
    COLUMNS,
    HeadersColumn,
    RecordColumns,
    StringColumn,
    join_columns,
)
from protocol_specs.records.columnar.runs import keys_of, timestamp_deltas, values_of
from protocol_specs.records.columnar.varints import WORD_BYTES, UnusualVarint, VarintReader, spread
from protocol_specs.records.equal_records import NULL_SIZE, begins_with_equal_sizes, find_runs
from protocol_specs.records.record_reader import MAX_DECOMPRESSED_BYTES, counted_section, read_section
from protocol_specs.records.varints import MAX_VARINT_BYTES, decode_varint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol_specs.records.batch_peek import BatchHeader
    from protocol_specs.records.columnar.arrays import Ints

# Below this number, reading objects is faster than calling numpy.
_FEW_RECORDS: Final = 24
_MIN_RECORD_BYTES: Final = 7
_MIN_HEADER_BYTES: Final = 2
_MAX_HEADERS: Final = 32
_TWO_BYTES_END: Final = 1 << 14
# The size of a record by the bytes of its length: of one byte, or the contribution of each of two.
_SIZES: Final = [1 + (raw >> 1) for raw in range(128)]
_SIZES_BY_LOW: Final = [2 + (raw - 128 >> 1) for raw in range(256)]
_SIZES_BY_HIGH: Final = [high << 6 for high in range(128)]
_PADDING: Final = bytes(WORD_BYTES)
# The number of records before the next search for a run of equal lengths; it doubles after each unsuccessful one.
_WORTH_RECORDS: Final = 16


def read_columns(
    buffer: bytes | memoryview, *, columns: Sequence[str] = COLUMNS, limit_bytes: int = MAX_DECOMPRESSED_BYTES
) -> RecordColumns:
    """Read the named columns of every whole batch of a record set; control records are among them.

    Only named columns are made. `limit_bytes` is the limit on the total decompressed size. Raises the errors of
    read_record_set for the first invalid batch, and ValueError for an unknown column.
    """
    wanted = _wanted(columns)
    left_bytes = limit_bytes
    batches: list[RecordColumns] = []
    for header, batch in iterate_batches(buffer):
        try:
            section = counted_section(batch, header, limit_bytes=left_bytes)
        except DecompressionLimitExceeded as error:
            raise DecompressionLimitExceeded(error.codec, limit_bytes) from None
        left_bytes -= len(section)
        batches.append(_read_section(section, header, wanted))
    return batches[0] if len(batches) == 1 else join_columns(batches, wanted)


def read_batch_columns(
    batch: bytes | memoryview, *, columns: Sequence[str] = COLUMNS, limit_bytes: int = MAX_DECOMPRESSED_BYTES
) -> RecordColumns:
    """Read the named columns of the batch at the start of the buffer. Raises the errors of read_records."""
    wanted = _wanted(columns)
    header = peek_header(batch)
    return _read_section(counted_section(batch, header, limit_bytes=limit_bytes), header, wanted)


def _wanted(columns: Sequence[str]) -> tuple[str, ...]:
    for name in columns:
        if name not in COLUMNS:
            raise ValueError(f"column {name!r} does not exist; the columns of records are {', '.join(COLUMNS)}")
    return tuple(name for name in COLUMNS if name in columns)


def _read_section(section: bytes, header: BatchHeader, wanted: tuple[str, ...]) -> RecordColumns:
    count = header.records_count
    # A count that the bytes cannot hold never sizes an array.
    if _FEW_RECORDS <= count <= len(section) // _MIN_RECORD_BYTES:
        try:
            read = _SectionReader(section, header, wanted).read()
        except UnusualVarint:
            read = None
        if read is not None:
            return read
    return RecordColumns.of_records(read_section(section, header), columns=wanted)


class _SectionReader:
    """The state of reading one decompressed section."""

    __slots__ = ("_data", "_header", "_section", "_varints", "_wanted")

    def __init__(self, section: bytes, header: BatchHeader, wanted: tuple[str, ...]) -> None:
        self._section = section
        self._data = np.frombuffer(section, np.uint8)
        self._header = header
        self._wanted = wanted

    def read(self) -> RecordColumns | None:
        """Read all records; return None or raise UnusualVarint if record_reader must."""
        read = self._read_runs()
        return self._read_any() if read is None else read

    def _read_runs(self) -> RecordColumns | None:
        header, data, wanted = self._header, self._data, self._wanted
        count = header.records_count
        runs = find_runs(self._section, count) if begins_with_equal_sizes(self._section) else None
        deltas = None if runs is None else timestamp_deltas(self._section, runs)
        if runs is None or deltas is None:
            return None
        offset = timestamp = key = value = headers = None
        if "offset" in wanted:
            offset = np.arange(count, dtype=np.int64) + header.base_offset
        if "timestamp" in wanted:
            timestamp = self._log_append_times()
            if timestamp is None:
                timestamp = deltas + header.base_timestamp
        if "key" in wanted:
            key = keys_of(data, runs)
        if "value" in wanted:
            value = values_of(data, runs)
        if "headers" in wanted:
            headers = HeadersColumn.none(count)
        return RecordColumns(offset=offset, timestamp=timestamp, key=key, value=value, headers=headers)

    def _read_any(self) -> RecordColumns | None:
        padded = self._section + _PADDING
        boundaries = _record_boundaries(padded, len(self._section), self._header.records_count)
        if boundaries is None:
            return None
        self._data = np.frombuffer(padded, np.uint8)
        self._varints = VarintReader(self._data)
        length, position = self._varints.raw(boundaries[:-1])
        if np.any(length & 1):
            return None
        # The attributes of a record are one byte, which Kafka does not use.
        timestamp, position = self._read_timestamps(position + 1)
        offset, position = self._read_offsets(position)
        key, position = self._read_strings(position, wanted="key" in self._wanted)
        value, position = self._read_strings(position, wanted="value" in self._wanted)
        headers, end = self._read_headers(position)
        # No earlier field can exceed its record, because positions never decrease.
        if end is None or not np.array_equal(end, boundaries[1:]):
            return None
        return RecordColumns(offset=offset, timestamp=timestamp, key=key, value=value, headers=headers)

    def _log_append_times(self) -> Ints | None:
        if self._header.timestamp_type != TimestampType.LOG_APPEND_TIME:
            return None
        return np.full(self._header.records_count, self._header.max_timestamp, np.int64)

    def _read_timestamps(self, position: Ints) -> tuple[Ints | None, Ints]:
        if "timestamp" not in self._wanted:
            return None, self._varints.skip(position, WORD_BYTES)
        times = self._log_append_times()
        if times is not None:
            return times, self._varints.skip(position, WORD_BYTES)
        delta, after = self._varints.varlongs(position)
        # Sums wrap as Java's do.
        return spread(delta, len(position)) + self._header.base_timestamp, after

    def _read_offsets(self, position: Ints) -> tuple[Ints | None, Ints]:
        if "offset" not in self._wanted:
            return None, self._varints.skip(position, MAX_VARINT_BYTES)
        delta, after = self._varints.varints(position)
        return spread(delta, len(position)) + self._header.base_offset, after

    def _read_strings(self, position: Ints, *, wanted: bool) -> tuple[StringColumn | None, Ints]:
        raw, start = self._varints.raw(position)
        nulls = raw & 1
        sizes = raw >> 1
        if not np.any(nulls):
            end = start + sizes
        elif np.all(nulls):
            sizes, end = NULL_SIZE, start
        else:
            end = start + np.where(nulls, 0, sizes)
            sizes = np.where(nulls, NULL_SIZE, sizes)
        return StringColumn(self._data, start, spread(sizes, len(start))) if wanted else None, end

    def _read_headers(self, position: Ints) -> tuple[HeadersColumn | None, Ints | None]:
        """Read headers: the first ones of all records, then the second ones, and so on."""
        wanted = "headers" in self._wanted
        raw, after = self._varints.raw(position)
        if not np.any(raw):
            return HeadersColumn.none(len(position)) if wanted else None, after
        counts = spread(raw, len(position)) >> 1
        most, total = int(counts.max()), int(counts.sum())
        if np.any(raw & 1) or most > _MAX_HEADERS or total * _MIN_HEADER_BYTES > len(self._section):
            return None, None
        offsets = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        key, value = (StringColumn(self._data, np.empty(total, np.int64), np.empty(total, np.int64)) for _ in range(2))
        for nth in range(most):
            rows = np.flatnonzero(counts > nth)
            into = offsets[rows] + nth
            names, at = self._read_strings(after[rows], wanted=True)
            values, at = self._read_strings(at, wanted=True)
            assert names is not None
            assert values is not None
            if names.nulls.any():
                return None, None
            key.starts[into], key.sizes[into] = names.starts, names.sizes
            value.starts[into], value.sizes[into] = values.starts, values.sizes
            after[rows] = at
        return HeadersColumn(offsets, key, value) if wanted else None, after


def _record_boundaries(data: bytes, size: int, count: int) -> Ints | None:
    """Find the starts of records and the end of the last one by their lengths; None if that is not `size`.

    `data` continues after `size`.
    """
    pieces: list[Ints] = []
    singles: list[int] = []
    position = index = next_try = 0
    pause = _WORTH_RECORDS
    while index < count:
        if index >= next_try:
            run, record_size = _equal_records(data, position, size, count - index)
            if run:
                pieces += (
                    np.fromiter(singles, np.int64),
                    np.arange(position, position + run * record_size, record_size),
                )
                singles = []
                position += run * record_size
                index += run
                pause = _WORTH_RECORDS
                next_try = index
                continue
            next_try = index + pause
            pause *= 2
        stop = min(next_try, count)
        try:
            position = _follow(data, position, stop - index, singles)
        except (IndexError, MalformedVarint):
            return None
        index = stop
    singles.append(position)
    pieces.append(np.fromiter(singles, np.int64, len(singles)))
    return np.concatenate(pieces) if position == size else None


def _equal_records(data: bytes, position: int, size: int, left: int) -> tuple[int, int]:
    """Count the records at `position` with one length, and return their size; 0 if they are too few."""
    if position >= size:
        return 0, 0
    length, body = data[position], position + 1
    if length > 127:
        length += (data[body] << 7) - 128
        body += 1
    if length >= _TWO_BYTES_END:
        return 0, 0
    record_size = body - position + (length >> 1)
    run = min(left, (size - position) // record_size)
    for column in range(position, body):
        if run < _WORTH_RECORDS:
            return 0, 0
        byte = data[column : column + 1]
        few = data[column : column + _WORTH_RECORDS * record_size : record_size]
        if few.count(byte) < _WORTH_RECORDS:
            return 0, 0
        found = data[column : column + run * record_size : record_size]
        run = min(run, len(found)) - len(found[:run].lstrip(byte))
    return run, record_size


def _follow(data: bytes, position: int, count: int, starts: list[int]) -> int:
    """Store the starts of `count` records; return the end of the last one."""
    note, one_byte, low_byte, high_byte = starts.append, _SIZES, _SIZES_BY_LOW, _SIZES_BY_HIGH
    for _ in range(count):
        note(position)
        low = data[position]
        if low < 128:
            position += one_byte[low]
        else:
            high = data[position + 1]
            if high < 128:
                position += low_byte[low] + high_byte[high]
            else:
                length, body = decode_varint(data, position)
                position = max(body, body + length)
    return position
