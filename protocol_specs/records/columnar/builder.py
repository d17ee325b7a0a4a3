"""Builds record batches of magic 2 from columns. The same bytes as MemoryRecordsBuilder and DefaultRecord.writeTo.

The sizes of all records are computed first, then every field is written for all records together. The bytes are those
of a RecordBatchBuilder to which the same records are appended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from protocol_specs.records.batch_builder import seal_batch
from protocol_specs.records.batch_peek import (
    CONTROL_FLAG_MASK,
    LOG_OVERHEAD,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_FLAG_MASK,
    TimestampType,
    increment_sequence,
)
from protocol_specs.records.columnar.arrays import copy_strings, np
from protocol_specs.records.columnar.varints import spread, widths_of, write_varints, zigzag
from protocol_specs.records.compression import CompressionCodec, compress
from protocol_specs.records.equal_records import NULL_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol_specs.records.columnar.arrays import Bytes, Ints
    from protocol_specs.records.columnar.columns import HeadersColumn, RecordColumns, StringColumn
    from protocol_specs.records.columnar.varints import Numbers

_INT32_MAX: Final = 0x7FFF_FFFF
_INT64_MAX: Final = 0x7FFF_FFFF_FFFF_FFFF


def build_batches(
    columns: RecordColumns,
    *,
    max_batch_bytes: int | None = None,
    codec: CompressionCodec = CompressionCodec.NONE,
    level: int | None = None,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    log_append_time: int = NO_TIMESTAMP,
    base_offset: int | None = None,
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
    is_control: bool = False,
) -> list[bytes]:
    """Write all records in one batch, or in several of at most `max_batch_bytes` each before compression.

    Timestamps and values are required; without keys or headers the records have none. Offsets go up by one from
    `base_offset` (0); without it they are those of the offset column, where there is one, and may leave gaps. The
    sequence continues from batch to batch; no records make no batch.

    Raises ValueError if offsets do not ascend, a number does not fit its field or a record does not fit into a batch.
    """
    attributes = int(codec)
    if timestamp_type == TimestampType.LOG_APPEND_TIME:
        attributes |= TIMESTAMP_TYPE_MASK
    if is_transactional:
        attributes |= TRANSACTIONAL_FLAG_MASK
    if is_control:
        attributes |= CONTROL_FLAG_MASK
    batches: list[bytes] = []
    for part in iterate_sections(columns, max_batch_bytes=max_batch_bytes, base_offset=base_offset):
        section = compress(codec, part.section, level) if codec != CompressionCodec.NONE else part.section
        batches.append(
            seal_batch(
                section,
                base_offset=part.base_offset,
                partition_leader_epoch=partition_leader_epoch,
                attributes=attributes,
                last_offset_delta=part.last_offset_delta,
                base_timestamp=part.base_timestamp,
                max_timestamp=part.max_timestamp if timestamp_type == TimestampType.CREATE_TIME else log_append_time,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                base_sequence=base_sequence,
                records_count=part.count,
            )
        )
        if base_sequence != NO_SEQUENCE:
            base_sequence = increment_sequence(base_sequence, part.last_offset_delta + 1)
    return batches


def iterate_sections(
    columns: RecordColumns,
    *,
    max_batch_bytes: int | None = None,
    base_offset: int | None = None,
    first_always_fits: bool = False,
) -> Iterator[RecordsSection]:
    """Yield all records, batch by batch; the caller adds compression and the header.

    With `first_always_fits` a record that is larger than `max_batch_bytes` gets a batch of its own, as a producer does.
    """
    whole = _Records(columns, base_offset)
    first = 0
    while first < whole.count:
        part = whole.write(first, max_batch_bytes, first_always_fits=first_always_fits)
        yield part
        first += part.count


@dataclass(slots=True, kw_only=True)
class RecordsSection:
    """The records of one batch, written, before compression."""

    section: memoryview
    count: int
    base_offset: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    max_record_size: int
    """Of its largest record, in bytes."""


class _Records:
    """All records with the data that does not depend on their batch."""

    __slots__ = (
        "_base_offset",
        "_framed_sizes",
        "_headers",
        "_key",
        "_least_ends",
        "_offsets",
        "_timestamps",
        "_value",
        "count",
    )

    def __init__(self, columns: RecordColumns, base_offset: int | None) -> None:
        self.count = len(columns)
        self._timestamps = columns.timestamp
        self._base_offset = base_offset or 0
        self._offsets: Ints | None = None
        if base_offset is None and "offset" in columns.columns:
            self._offsets = _ascending(columns.offset)
        self._key = _Strings("key", columns.key if "key" in columns.columns else None)
        self._value = _Strings("value", columns.value)
        self._headers: _Headers | None = None
        if "headers" in columns.columns and len(columns.headers.key):
            self._headers = _Headers(columns.headers)
        # With the attributes; without the length and the deltas of timestamp and offset.
        headers_sizes = self._headers.framed_sizes if self._headers else 1
        self._framed_sizes = self._key.framed_sizes + self._value.framed_sizes + headers_sizes + 1
        self._least_ends: Ints | None = None

    def write(self, first: int, max_batch_bytes: int | None, *, first_always_fits: bool) -> RecordsSection:
        """Write the records from `first` on that fit into one batch."""
        limit_bytes = _INT32_MAX - RECORD_BATCH_OVERHEAD + LOG_OVERHEAD
        end = self.count
        if max_batch_bytes is not None:
            limit_bytes = min(limit_bytes, max_batch_bytes - RECORD_BATCH_OVERHEAD)
            end = self._end_at_most(first, limit_bytes)
        timestamp = _Varints(self._timestamp_deltas(first, end))
        offset_deltas = (
            np.arange(end - first, dtype=np.int64) if self._offsets is None else self._offset_deltas(first, end)
        )
        offset = _Varints(offset_deltas, no_negatives=True)
        bodies = _rows(self._framed_sizes, first, end) + timestamp.widths + offset.widths
        length = _Varints(bodies, no_negatives=True)
        sizes = spread(bodies + length.widths, end - first)
        ends = np.cumsum(sizes)
        count = end - first
        if int(ends[-1]) > limit_bytes:
            count = int(np.searchsorted(ends, limit_bytes, "right"))
            if max_batch_bytes is None:
                raise ValueError(f"{end} records take {int(ends[-1])} bytes, too many for a batch: set max_batch_bytes")
            if not count and first_always_fits:
                count = 1
            elif not count:
                size = RECORD_BATCH_OVERHEAD + int(sizes[0])
                raise ValueError(f"record {first} takes a batch of {size} bytes, max_batch_bytes is {max_batch_bytes}")
        # Attributes and counts of no headers are 0 already. In their order in a record, fields may write 0 behind them.
        section = np.zeros(int(ends[count - 1]), np.uint8)
        position = (ends - sizes)[:count]
        position = length.write(section, position) + 1
        position = timestamp.write(section, position)
        position = offset.write(section, position)
        position = self._key.write(section, position, first)
        position = self._value.write(section, position, first)
        if self._headers is not None:
            self._headers.write(section, position, first)
        return RecordsSection(
            section=section.data,
            count=count,
            base_offset=self._base_offset + first if self._offsets is None else int(self._offsets[first]),
            last_offset_delta=int(offset_deltas[count - 1]),
            base_timestamp=int(self._timestamps[first]),
            max_timestamp=max(NO_TIMESTAMP, int(self._timestamps[first : first + count].max())),
            max_record_size=int(sizes[:count].max()),
        )

    def _end_at_most(self, first: int, limit_bytes: int) -> int:
        """The latest end of a batch from `first` on, so that no more is computed than it can hold."""
        if self._least_ends is None:
            # A length and two deltas take three bytes at least.
            self._least_ends = np.cumsum(spread(self._framed_sizes + 3, self.count))
        before = int(self._least_ends[first - 1]) if first else 0
        return max(first + 1, int(np.searchsorted(self._least_ends, before + limit_bytes, "right")))

    def _timestamp_deltas(self, first: int, end: int) -> Numbers:
        timestamps = self._timestamps[first:end]
        base, least, most = int(timestamps[0]), int(timestamps.min()), int(timestamps.max())
        if least == most:
            return 0
        if most - base > _INT64_MAX or least - base < -_INT64_MAX - 1:
            wrong = most if most - base > _INT64_MAX else least
            raise ValueError(f"varlong {wrong - base} is outside of the int64 range")
        return timestamps - base

    def _offset_deltas(self, first: int, end: int) -> Ints:
        if self._offsets is None:
            return np.arange(end - first, dtype=np.int64)
        deltas: Ints = self._offsets[first:end] - self._offsets[first]
        if int(deltas[-1]) > _INT32_MAX:
            raise ValueError(f"varint {int(deltas[-1])} is outside of the int32 range")
        return deltas


class _Varints:
    """Numbers that each record has, in encoded form."""

    __slots__ = ("raw", "widths")

    def __init__(self, numbers: Numbers, *, no_negatives: bool = False) -> None:
        self.raw = zigzag(numbers, no_negatives=no_negatives)
        self.widths = widths_of(self.raw)

    def write(self, target: Bytes, position: Ints, first: int = 0, *, zero_may_follow: bool = True) -> Ints:
        """Write those of as many records as there are positions, from the `first` on; return where they end."""
        end = first + len(position)
        raw, widths = self.raw if isinstance(self.raw, int) else self.raw[first:end], _rows(self.widths, first, end)
        write_varints(target, position, raw, widths, zero_may_follow=zero_may_follow)
        after: Ints = position + widths
        return after


class _Strings:
    """Byte strings with their lengths before them; equal sizes are one number."""

    __slots__ = ("_column", "_contents", "_lengths", "framed_sizes")

    def __init__(self, name: str, column: StringColumn | None) -> None:
        self._column = column
        sizes: Numbers = NULL_SIZE
        if column is not None and len(column):
            least, most = int(column.sizes.min()), int(column.sizes.max())
            ends = column.starts + column.sizes
            if least < NULL_SIZE or int(column.starts.min()) < 0 or int(ends.max()) > len(column.data):
                raise ValueError(f"column {name} has a string outside of its data of {len(column.data)} bytes")
            sizes = least if least == most else column.sizes
        self._lengths = _Varints(sizes)
        self._contents: Numbers = max(sizes, 0) if isinstance(sizes, int) else np.maximum(sizes, 0)
        self.framed_sizes: Numbers = self._lengths.widths + self._contents

    def write(self, target: Bytes, position: Ints, first: int, *, zero_may_follow: bool = True) -> Ints:
        """Write those of as many records as there are positions, from the `first` on; return where they end."""
        end = first + len(position)
        position = self._lengths.write(target, position, first, zero_may_follow=zero_may_follow)
        contents = _rows(self._contents, first, end)
        if self._column is None or (isinstance(contents, int) and not contents):
            return position
        starts = self._column.starts[first:end]
        copy_strings(target, position, self._column.data, starts, spread(contents, len(position)))
        after: Ints = position + contents
        return after


class _Headers:
    """Headers with their counts before them."""

    __slots__ = ("_counts", "_ends", "_key", "_offsets", "_value", "framed_sizes")

    def __init__(self, column: HeadersColumn) -> None:
        offsets = self._offsets = column.offsets
        self._key, self._value = _Strings("headers.key", column.key), _Strings("headers.value", column.value)
        entries = len(column.key)
        counts = offsets[1:] - offsets[:-1]
        if int(offsets[0]) < 0 or int(offsets[-1]) > entries or int(counts.min()) < 0 or len(column.value) != entries:
            raise ValueError(f"offsets of headers must ascend from 0 to {entries}, the number of keys and of values")
        if column.key.nulls.any():
            raise ValueError(f"header {int(column.key.nulls.argmax())} has no key")
        self._ends = np.zeros(entries + 1, np.int64)
        np.cumsum(spread(self._key.framed_sizes + self._value.framed_sizes, entries), out=self._ends[1:])
        self._counts = _Varints(counts if counts.any() else 0)
        self.framed_sizes = self._counts.widths + self._ends[offsets[1:]] - self._ends[offsets[:-1]]

    def write(self, target: Bytes, position: Ints, first: int) -> None:
        """Write those of as many records as there are positions, from the `first` on."""
        # The bytes after a count of 0, or an empty value, are the next record or header, which is already written.
        position = self._counts.write(target, position, first, zero_may_follow=False)
        offsets = self._offsets[first : first + len(position) + 1]
        first_entry, end = int(offsets[0]), int(offsets[-1])
        if first_entry == end:
            return
        record = np.repeat(np.arange(len(position)), offsets[1:] - offsets[:-1])
        entry = position[record] + self._ends[first_entry:end] - self._ends[offsets[:-1]][record]
        entry = self._key.write(target, entry, first_entry)
        self._value.write(target, entry, first_entry, zero_may_follow=False)


def _ascending(offsets: Ints) -> Ints:
    descents = offsets[1:] <= offsets[:-1]
    if descents.any():
        row = int(descents.argmax())
        raise ValueError(f"offset {int(offsets[row + 1])} is not after the one before it, {int(offsets[row])}")
    return offsets


def _rows(numbers: Numbers, first: int, end: int) -> Numbers:
    return numbers if isinstance(numbers, int) else numbers[first:end]
