"""Reads the records of a batch of magic 2, with absolute offsets and timestamps. Mirrors DefaultRecord.readFrom.

Most records have varints of one or two bytes and no headers: a loop reads those. All others go through the general
reader, which also makes the error text when a record does not fit. Both check every length against the bytes left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from protocol_specs.errors import InvalidRecord, MalformedVarint, TruncatedRecordBatch
from protocol_specs.records.batch_peek import (
    RECORD_BATCH_OVERHEAD,
    BatchHeader,
    TimestampType,
    iterate_batches,
    peek_header,
)
from protocol_specs.records.compression import decompress
from protocol_specs.records.varints import decode_varint, decode_varlong

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol_specs.records.batch_builder import Header

MAX_DECOMPRESSED_BYTES: Final = 256 * 1024 * 1024
"""The default of every `limit_bytes`: the limit on the decompressed size of one batch."""

_TWO_BYTES_END: Final = 1 << 14
_INT64_MIN: Final = -(1 << 63)
_INT64_MAX: Final = (1 << 63) - 1


@dataclass(slots=True, kw_only=True)
class Record:
    """One record with its absolute offset and timestamp. Header keys that are not UTF-8 have replacements."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    attributes: int = 0


def read_records(batch: bytes | memoryview, *, limit_bytes: int = MAX_DECOMPRESSED_BYTES) -> list[Record]:
    """Read the records of the batch at the start of the buffer; its checksum is not verified (see check_batch).

    Raises a RecordBatchError: InvalidRecord for the first record that does not fit, and those of records_section.
    """
    header = peek_header(batch)
    if header.records_count == 0:
        return []
    if header.records_count < 0:
        raise InvalidRecord(0, 0, f"record count {header.records_count} is negative")
    return read_section(records_section(batch, header, limit_bytes=limit_bytes), header)


def read_section(section: bytes, header: BatchHeader) -> list[Record]:
    """Read the records of a decompressed section, as many as in the header. Raises InvalidRecord."""
    return _Reader(section, header).read_all()


def read_record_set(buffer: bytes | memoryview, *, limit_bytes: int = MAX_DECOMPRESSED_BYTES) -> Iterator[Record]:
    """Read the records of every whole batch of a record set, in order; control records are among them."""
    for _, batch in iterate_batches(buffer):
        yield from read_records(batch, limit_bytes=limit_bytes)


def records_section(
    batch: bytes | memoryview, header: BatchHeader, *, limit_bytes: int = MAX_DECOMPRESSED_BYTES
) -> bytes:
    """Return the decompressed records section of the batch at the start of the buffer, of at most `limit_bytes`.

    Raises TruncatedRecordBatch, UnknownCodec, CorruptCompressedData, DecompressionLimitExceeded.
    """
    return decompress(header.codec, raw_records(batch, header), limit_bytes=limit_bytes)


def raw_records(batch: bytes | memoryview, header: BatchHeader) -> memoryview:
    """Return the records section of the batch at the start of the buffer, unchanged. Raises TruncatedRecordBatch."""
    size = header.size_in_bytes
    if len(batch) < size:
        raise TruncatedRecordBatch(size, len(batch))
    return memoryview(batch)[RECORD_BATCH_OVERHEAD : max(size, RECORD_BATCH_OVERHEAD)]


class _Reader:
    """The state of reading one decompressed records section."""

    __slots__ = ("base_offset", "base_timestamp", "count", "data", "log_append_time")

    def __init__(self, data: bytes, header: BatchHeader) -> None:
        self.data = data
        self.count = header.records_count
        self.base_offset = header.base_offset
        self.base_timestamp = header.base_timestamp
        self.log_append_time: int | None = None
        if header.timestamp_type == TimestampType.LOG_APPEND_TIME:
            self.log_append_time = header.max_timestamp

    def read_all(self) -> list[Record]:
        data = self.data
        records: list[Record] = []
        position = 0
        for index in range(self.count):
            start = position
            try:
                record, position = self._read_small(position)
            except IndexError:
                record = None
            if record is None:
                record, position = self._read_any(start, index)
            records.append(record)
        if position != len(data):
            raise InvalidRecord(self.count, position, f"{len(data) - position} bytes after the last record")
        return records

    def _read_small(self, position: int) -> tuple[Record | None, int]:
        """Read a record of short varints without headers; return None or raise IndexError for others."""
        data = self.data
        length = data[position]
        position += 1
        if length > 127:
            length += (data[position] << 7) - 128
            position += 1
        stop = position + (length >> 1)
        attributes = data[position]
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
        # A varint of three bytes or more has bits above 14; the general reader handles it, and negative numbers.
        if (length | timestamp | offset | key_size | value_size) >= _TWO_BYTES_END or data[position]:
            return None, position
        position += 1
        if position != stop or (length | timestamp | offset) & 1:
            return None, position
        return self._record(timestamp >> 1, offset >> 1, key, value, (), attributes), position

    def _record(
        self,
        timestamp_delta: int,
        offset_delta: int,
        key: bytes | None,
        value: bytes | None,
        headers: tuple[Header, ...],
        attributes: int,
    ) -> Record:
        offset = self.base_offset + offset_delta
        timestamp = self.log_append_time
        if timestamp is None:
            timestamp = self.base_timestamp + timestamp_delta
        if not (_INT64_MIN <= offset <= _INT64_MAX and _INT64_MIN <= timestamp <= _INT64_MAX):
            # Java's long addition wraps for hostile deltas.
            offset, timestamp = _wrap_int64(offset), _wrap_int64(timestamp)
        return Record(offset=offset, timestamp=timestamp, key=key, value=value, headers=headers, attributes=attributes)

    def _read_any(self, start: int, index: int) -> tuple[Record, int]:
        data = self.data
        try:
            length, body = decode_varint(data, start)
            if not 0 < length <= len(data) - body:
                raise InvalidRecord(index, start, f"length {length}, {len(data) - body} bytes left")
            timestamp_delta, position = decode_varlong(data, body + 1)
            offset_delta, position = decode_varint(data, position)
            key, position = self._nullable(position, index)
            value, position = self._nullable(position, index)
            count, position = decode_varint(data, position)
            if not 0 <= count <= len(data) - position:
                raise InvalidRecord(index, position, f"{count} headers, {len(data) - position} bytes left")
            headers: list[Header] = []
            for _ in range(count):
                name, position = self._nullable(position, index)
                if name is None:
                    raise InvalidRecord(index, position, "negative length of a header's key")
                header_value, position = self._nullable(position, index)
                headers.append((name.decode("utf-8", "replace"), header_value))
        except MalformedVarint as error:
            raise InvalidRecord(index, error.position, error.reason) from None
        if position - body != length:
            raise InvalidRecord(index, start, f"length {length}, its fields take {position - body} bytes")
        record = self._record(timestamp_delta, offset_delta, key, value, tuple(headers), data[body])
        return record, position

    def _nullable(self, position: int, index: int) -> tuple[bytes | None, int]:
        size, position = decode_varint(self.data, position)
        if size < 0:
            return None, position
        if size > len(self.data) - position:
            raise InvalidRecord(index, position, f"length {size}, {len(self.data) - position} bytes left")
        return self.data[position : position + size], position + size


def _wrap_int64(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
