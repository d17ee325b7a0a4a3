"""Reads the records of a batch of magic 2, with absolute offsets and timestamps. Mirrors DefaultRecord.readFrom.

Most records have varints of one or two bytes and no headers: one loop makes their rows, from which objects are made
if needed. All others go through the general reader, which also makes the error text when a record does not fit. Both
check every length against the bytes left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

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
SAFE_BASE_MAX: Final = 1 << 62
"""Below this, a base offset or timestamp plus a delta of a few bytes is within int64."""

Row: TypeAlias = "tuple[int, int, bytes | None, bytes | None, tuple[Header, ...], int]"
"""Offset, timestamp, key, value, headers and attributes of a record."""


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
    return read_section(counted_section(batch, header, limit_bytes=limit_bytes), header)


def read_section(section: bytes, header: BatchHeader) -> list[Record]:
    """Read the records of a decompressed section, as many as in the header. Raises InvalidRecord."""
    return [
        Record(offset=offset, timestamp=timestamp, key=key, value=value, headers=headers, attributes=attributes)
        for offset, timestamp, key, value, headers, attributes in read_section_rows(section, header)
    ]


def read_record_set(buffer: bytes | memoryview, *, limit_bytes: int = MAX_DECOMPRESSED_BYTES) -> Iterator[Record]:
    """Read the records of every whole batch of a record set, in order; control records are among them."""
    for _, batch in iterate_batches(buffer):
        yield from read_records(batch, limit_bytes=limit_bytes)


def counted_section(
    batch: bytes | memoryview, header: BatchHeader, *, limit_bytes: int = MAX_DECOMPRESSED_BYTES
) -> bytes:
    """Return the records section; it is empty for a batch without records, even if bytes follow its header.

    Raises InvalidRecord for a negative count, and the errors of records_section.
    """
    if header.records_count < 0:
        raise InvalidRecord(0, 0, f"record count {header.records_count} is negative")
    return records_section(batch, header, limit_bytes=limit_bytes) if header.records_count else b""


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


def read_section_rows(data: bytes, header: BatchHeader) -> list[Row]:
    """Read the records of a decompressed section as tuples, as many as in the header. Raises InvalidRecord."""
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    log_append_time = header.max_timestamp if header.timestamp_type == TimestampType.LOG_APPEND_TIME else None
    # Sums with larger bases may wrap: then no record is plain.
    plain_end = _TWO_BYTES_END if max(abs(base_offset), abs(base_timestamp)) < SAFE_BASE_MAX else 0
    rows: list[Row] = []
    position = stop = length = timestamp = offset = attributes = 0
    key = value = None
    for index in range(header.records_count):
        start = position
        try:
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
            if key_size & 1:
                key = None
            else:
                key = data[position : position + (key_size >> 1)]
                position += key_size >> 1
            value_size = data[position]
            position += 1
            if value_size > 127:
                value_size += (data[position] << 7) - 128
                position += 1
            if value_size & 1:
                value = None
            else:
                value = data[position : position + (value_size >> 1)]
                position += value_size >> 1
            # A varint of three bytes or more has bits above 14. The last byte is the count of headers.
            plain = (length | timestamp | offset | key_size | value_size) < plain_end and not data[position]
            position += 1
        except IndexError:
            plain = False
        if plain and position == stop and not (length | timestamp | offset) & 1:
            time = base_timestamp + (timestamp >> 1) if log_append_time is None else log_append_time
            rows.append((base_offset + (offset >> 1), time, key, value, (), attributes))
        else:
            (offset, timestamp, key, value, headers, attributes), position = _read_any(data, start, index)
            # Java's long addition wraps for hostile deltas.
            time = _wrap_int64(base_timestamp + timestamp) if log_append_time is None else log_append_time
            rows.append((_wrap_int64(base_offset + offset), time, key, value, headers, attributes))
    if position != len(data):
        raise InvalidRecord(header.records_count, position, f"{len(data) - position} bytes after the last record")
    return rows


def _read_any(data: bytes, start: int, index: int) -> tuple[Row, int]:
    """Read a record with deltas instead of offset and timestamp."""
    try:
        length, body = decode_varint(data, start)
        if not 0 < length <= len(data) - body:
            raise InvalidRecord(index, start, f"length {length}, {len(data) - body} bytes left")
        timestamp_delta, position = decode_varlong(data, body + 1)
        offset_delta, position = decode_varint(data, position)
        key, position = _nullable(data, position, index)
        value, position = _nullable(data, position, index)
        count, position = decode_varint(data, position)
        if not 0 <= count <= len(data) - position:
            raise InvalidRecord(index, position, f"{count} headers, {len(data) - position} bytes left")
        headers: list[Header] = []
        for _ in range(count):
            name, position = _nullable(data, position, index)
            if name is None:
                raise InvalidRecord(index, position, "negative length of a header's key")
            header_value, position = _nullable(data, position, index)
            headers.append((name.decode("utf-8", "replace"), header_value))
    except MalformedVarint as error:
        raise InvalidRecord(index, error.position, error.reason) from None
    if position - body != length:
        raise InvalidRecord(index, start, f"length {length}, its fields take {position - body} bytes")
    return (offset_delta, timestamp_delta, key, value, tuple(headers), data[body]), position


def _nullable(data: bytes, position: int, index: int) -> tuple[bytes | None, int]:
    size, position = decode_varint(data, position)
    if size < 0:
        return None, position
    if size > len(data) - position:
        raise InvalidRecord(index, position, f"length {size}, {len(data) - position} bytes left")
    return data[position : position + size], position + size


def _wrap_int64(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
