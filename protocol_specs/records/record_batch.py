"""Record batches of magic 2: records out of a batch, and batches with another offset, epoch or producer state.

Mirrors DefaultRecordBatch, DefaultRecord and MemoryRecords (KIP-98). What concerns the header alone is in batch_peek,
building in batch_builder, the broker's structural check in batch_walk; their public names are here too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from protocol_specs.errors import InvalidRecord, MalformedVarint, TruncatedRecordBatch
from protocol_specs.records.batch_builder import (
    Header,
    RecordBatchBuilder,
    encode_record_body,
    estimate_size_in_bytes_upper_bound,
    record_size_upper_bound,
    seal_batch,
)
from protocol_specs.records.batch_peek import (
    ATTRIBUTES_OFFSET,
    COMPRESSION_CODEC_MASK,
    CONTROL_FLAG_MASK,
    DELETE_HORIZON_FLAG_MASK,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_FLAG_MASK,
    BatchHeader,
    TimestampType,
    check_batch,
    decrement_sequence,
    increment_sequence,
    iterate_batches,
    peek_header,
)
from protocol_specs.records.checksums import crc32c
from protocol_specs.records.compression import CompressionCodec, decompress
from protocol_specs.records.varints import decode_varint, decode_varlong

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "MAX_DECOMPRESSED_BYTES",
    "NO_PARTITION_LEADER_EPOCH",
    "NO_PRODUCER_EPOCH",
    "NO_PRODUCER_ID",
    "NO_SEQUENCE",
    "NO_TIMESTAMP",
    "RECORD_BATCH_OVERHEAD",
    "BatchHeader",
    "CompressionCodec",
    "Header",
    "Record",
    "RecordBatchBuilder",
    "TimestampType",
    "check_batch",
    "decrement_sequence",
    "empty_batch",
    "encode_record_body",
    "estimate_size_in_bytes_upper_bound",
    "increment_sequence",
    "iterate_batches",
    "peek_header",
    "read_record_set",
    "read_records",
    "record_size_upper_bound",
    "records_section",
    "seal_batch",
    "with_offset_and_epoch",
    "with_producer_state",
]

MAX_DECOMPRESSED_BYTES: Final = 256 * 1024 * 1024
"""The default of every `limit_bytes`: what one batch may decompress to."""

_KNOWN_ATTRIBUTES: Final = (
    COMPRESSION_CODEC_MASK
    | TIMESTAMP_TYPE_MASK
    | TRANSACTIONAL_FLAG_MASK
    | CONTROL_FLAG_MASK
    | DELETE_HORIZON_FLAG_MASK
)
_INT64_MIN: Final = -(1 << 63)
_INT64_MAX: Final = (1 << 63) - 1


@dataclass(slots=True, kw_only=True)
class Record:
    """One record with its offset and timestamp in full. A header's key that is not UTF-8 is read with replacements."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    attributes: int = 0


def records_section(
    batch: bytes | memoryview, header: BatchHeader, *, limit_bytes: int = MAX_DECOMPRESSED_BYTES
) -> bytes:
    """Answer the records of the batch at the start of the buffer, decompressed; at most `limit_bytes` come out.

    Raises TruncatedRecordBatch, UnknownCodec, CorruptCompressedData, DecompressionLimitExceeded.
    """
    return decompress(header.codec, _raw_records(batch, header), limit_bytes=limit_bytes)


def read_records(batch: bytes | memoryview, *, limit_bytes: int = MAX_DECOMPRESSED_BYTES) -> list[Record]:
    """Read the records of the batch at the start of the buffer; its checksum is not verified (see check_batch).

    Raises a RecordBatchError: InvalidRecord for the first record that does not fit, and those of records_section.
    """
    header = peek_header(batch)
    if header.records_count == 0:
        return []
    if header.records_count < 0:
        raise InvalidRecord(0, 0, f"record count {header.records_count} is negative")
    section = records_section(batch, header, limit_bytes=limit_bytes)
    log_append_time = None
    if header.timestamp_type == TimestampType.LOG_APPEND_TIME:
        log_append_time = header.max_timestamp
    records: list[Record] = []
    position = 0
    for index in range(header.records_count):
        try:
            record, position = _read_record(section, position, header, log_append_time)
        except (IndexError, MalformedVarint) as error:
            raise InvalidRecord(index, position, str(error) or "the records end inside of it") from None
        except _BadRecord as error:
            raise InvalidRecord(index, position, str(error)) from None
        records.append(record)
    if position != len(section):
        rest = len(section) - position
        raise InvalidRecord(header.records_count, position, f"{rest} bytes after the last record")
    return records


def read_record_set(buffer: bytes | memoryview, *, limit_bytes: int = MAX_DECOMPRESSED_BYTES) -> Iterator[Record]:
    """Read the records of every whole batch of a record set, in order; control records are among them."""
    for _, batch in iterate_batches(buffer):
        yield from read_records(batch, limit_bytes=limit_bytes)


def with_offset_and_epoch(
    batch: bytes | memoryview,
    base_offset: int,
    leader_epoch: int,
    *,
    max_timestamp: int | None = None,
    timestamp_type: TimestampType | None = None,
) -> bytes:
    """Answer the batch with what a leader writes into it: offset, leader epoch, and max timestamp where given.

    Offset and epoch are outside of the checksum, which is computed again only when the timestamp or its type change;
    attribute bits that Kafka does not know are lost then, as in DefaultRecordBatch.setMaxTimestamp.
    """
    header = peek_header(batch)
    header.base_offset = base_offset
    header.partition_leader_epoch = leader_epoch
    if max_timestamp is None:
        max_timestamp = header.max_timestamp
    if timestamp_type is None:
        timestamp_type = header.timestamp_type
    if max_timestamp != header.max_timestamp or timestamp_type != header.timestamp_type:
        header.max_timestamp = max_timestamp
        header.attributes &= _KNOWN_ATTRIBUTES & ~TIMESTAMP_TYPE_MASK
        if timestamp_type == TimestampType.LOG_APPEND_TIME:
            header.attributes |= TIMESTAMP_TYPE_MASK
        return _with_checksum(header, batch)
    return b"".join((header.pack(), _raw_records(batch, header)))


def with_producer_state(
    batch: bytes | memoryview,
    *,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    is_transactional: bool,
) -> bytes:
    """Answer the batch as another producer's. Mirrors MemoryRecordsBuilder.reopenAndRewriteProducerState."""
    header = peek_header(batch)
    attributes = header.attributes & ~TRANSACTIONAL_FLAG_MASK
    if is_transactional:
        attributes |= TRANSACTIONAL_FLAG_MASK
    header = replace(
        header,
        attributes=attributes,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )
    return _with_checksum(header, batch)


def empty_batch(header: BatchHeader) -> bytes:
    """Answer the batch that compaction keeps for a producer's last sequence. Mirrors writeEmptyHeader.

    Offsets, epochs, producer state, max timestamp and flags are those of `header`; its records and codec are gone.
    """
    return seal_batch(
        b"",
        base_offset=header.base_offset,
        partition_leader_epoch=header.partition_leader_epoch,
        attributes=header.attributes & (TIMESTAMP_TYPE_MASK | TRANSACTIONAL_FLAG_MASK | CONTROL_FLAG_MASK),
        last_offset_delta=header.last_offset_delta,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=header.max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        records_count=0,
    )


class _BadRecord(Exception):
    """A record's own fields do not fit; read_records adds where."""


def _read_record(section: bytes, position: int, header: BatchHeader, log_append_time: int | None) -> tuple[Record, int]:
    size, position = decode_varint(section, position)
    start = position
    if size > len(section) - position:
        raise _BadRecord(f"length {size}, {len(section) - position} bytes left")
    attributes = section[position]
    timestamp_delta, position = decode_varlong(section, position + 1)
    offset_delta, position = decode_varint(section, position)
    key, position = _read_nullable(section, position)
    value, position = _read_nullable(section, position)
    count, position = decode_varint(section, position)
    headers: list[Header] = []
    if not 0 <= count <= len(section) - position:
        raise _BadRecord(f"{count} headers, {len(section) - position} bytes left")
    for _ in range(count):
        name, position = _read_nullable(section, position)
        if name is None:
            raise _BadRecord("negative size of a header's key")
        header_value, position = _read_nullable(section, position)
        headers.append((name.decode("utf-8", "replace"), header_value))
    if position - start != size:
        raise _BadRecord(f"length {size}, its fields take {position - start} bytes")
    offset = header.base_offset + offset_delta
    timestamp = header.base_timestamp + timestamp_delta if log_append_time is None else log_append_time
    if not (_INT64_MIN <= offset <= _INT64_MAX and _INT64_MIN <= timestamp <= _INT64_MAX):
        # Java's long addition wraps, and a hostile delta can drive it there.
        offset, timestamp = _wrap_int64(offset), _wrap_int64(timestamp)
    record = Record(
        offset=offset, timestamp=timestamp, key=key, value=value, headers=tuple(headers), attributes=attributes
    )
    return record, position


def _read_nullable(section: bytes, position: int) -> tuple[bytes | None, int]:
    size, position = decode_varint(section, position)
    if size < 0:
        return None, position
    if size > len(section) - position:
        raise _BadRecord(f"length {size}, {len(section) - position} bytes left")
    return section[position : position + size], position + size


def _wrap_int64(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _raw_records(batch: bytes | memoryview, header: BatchHeader) -> memoryview:
    size = header.size_in_bytes
    if len(batch) < size:
        raise TruncatedRecordBatch(size, len(batch))
    return memoryview(batch)[RECORD_BATCH_OVERHEAD : max(size, RECORD_BATCH_OVERHEAD)]


def _with_checksum(header: BatchHeader, batch: bytes | memoryview) -> bytes:
    records = _raw_records(batch, header)
    packed = bytearray(header.pack())
    crc = crc32c(records, crc32c(packed[ATTRIBUTES_OFFSET:]))
    packed[ATTRIBUTES_OFFSET - 4 : ATTRIBUTES_OFFSET] = crc.to_bytes(4, "big")
    return b"".join((packed, records))
