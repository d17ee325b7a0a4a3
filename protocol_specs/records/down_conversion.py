"""Down-conversion on fetch: records for clients that know only older message formats.

Mirrors RecordsUtil.downConvert, FileRecords.downConvert and, for the bytes of a Fetch response since 2.0,
LazyDownConversionRecords with its send. Offsets stay; control batches and headers go; zstd is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from protocol_specs.errors import (
    ConversionFailedWhileSending,
    RecordBatchError,
    UnsupportedCompressionType,
    UnwritableRecord,
)
from protocol_specs.records.batch_peek import LOG_OVERHEAD, MAGIC_V2, NO_TIMESTAMP, RECORD_BATCH_OVERHEAD, TimestampType
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.message_set_builder import MessageSetBuilder
from protocol_specs.records.record_reader import MAX_DECOMPRESSED_BYTES
from protocol_specs.records.record_set import AnyHeader, iterate_any, read_any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from protocol_specs.records.record_reader import Record

MAX_READ_BYTES: Final = 128 * 1024
"""The size of the chunks that a broker converts (LazyDownConversionRecordsSend.MAX_READ_SIZE)."""

_OVERFLOW_OFFSET: Final = (-1).to_bytes(8, "big", signed=True)


@dataclass(slots=True, kw_only=True)
class ConvertedRecords:
    """A record set in an older format, and the number of converted records."""

    records: bytes
    records_converted: int


def down_convert(
    records: bytes | memoryview, *, to_magic: int, first_offset: int, limit_bytes: int = MAX_DECOMPRESSED_BYTES
) -> ConvertedRecords:
    """Convert the whole batches and messages of a record set to `to_magic`; an incomplete batch at the end is omitted.

    Uncompressed records before `first_offset`, the fetch offset, are omitted if the target is a message set. Raises
    UnsupportedCompressionType for zstd, UnwritableRecord, and the errors of reading a batch.
    """
    return _convert(iterate_any(records), to_magic, first_offset, limit_bytes)


def down_convert_or_keep(
    records: bytes | memoryview, *, to_magic: int, first_offset: int, limit_bytes: int = MAX_DECOMPRESSED_BYTES
) -> bytes:
    """Convert, but keep the bytes where no record was converted. Mirrors FileRecords.downConvert.

    This includes a record set without a whole batch: old clients read its size then and report that it is too large.
    """
    converted = down_convert(records, to_magic=to_magic, first_offset=first_offset, limit_bytes=limit_bytes)
    return converted.records if converted.records_converted else bytes(records)


def down_convert_for_fetch(
    records: bytes | memoryview, *, to_magic: int, first_offset: int, limit_bytes: int = MAX_DECOMPRESSED_BYTES
) -> bytes:
    """Return the bytes to send: as many as were read from the log, or the first converted batch if larger.

    Converted batches come first, the last one cut at the size; the rest is filled with the beginning of a batch that is
    never complete. If no batch remains, the result is 12 such bytes. Raises the errors of down_convert for the first
    chunk, and ConversionFailedWhileSending for later ones.
    """
    batches = list(iterate_any(records))
    chunk = next(_chunks(iter(batches), 0, to_magic, first_offset, limit_bytes), None)
    if chunk is None:
        return _overflow_batch(LOG_OVERHEAD)[:LOG_OVERHEAD] if batches else b""
    size = max(len(records), len(chunk))
    sent = bytearray(chunk)
    # Kafka skips one batch here, even if the first remaining one is a later one, which is then sent twice.
    rest = _chunks(iter(batches[1:]), MAX_READ_BYTES, to_magic, first_offset, limit_bytes)
    while len(sent) < size:
        try:
            chunk = next(rest, None)
        except UnsupportedCompressionType:
            chunk = None
        except RecordBatchError as error:
            raise ConversionFailedWhileSending(str(error)) from None
        sent += _overflow_batch(size - len(sent)) if chunk is None else chunk
    return bytes(sent[:size])


def _convert(
    batches: Iterable[tuple[AnyHeader, memoryview]], to_magic: int, first_offset: int, limit_bytes: int
) -> ConvertedRecords:
    # Kafka reads all batches before it writes one: the first that cannot be read or sent decides.
    read: list[tuple[AnyHeader, bytes | list[Record]]] = []
    for header, batch in batches:
        if to_magic < MAGIC_V2:
            if header.is_control:
                continue
            if header.codec is CompressionCodec.ZSTD:
                raise UnsupportedCompressionType("Down-conversion of zstandard-compressed batches is not supported")
        kept = header.magic <= to_magic
        read.append((header, bytes(batch) if kept else _records(header, batch, first_offset, limit_bytes)))
    parts: list[bytes] = []
    count = 0
    for header, found in read:
        if isinstance(found, bytes):
            parts.append(found)
        elif found:
            count += len(found)
            parts.append(_message_set(header, found, to_magic))
    return ConvertedRecords(records=b"".join(parts), records_converted=count)


def _records(header: AnyHeader, batch: memoryview, first_offset: int, limit_bytes: int) -> list[Record]:
    records = read_any(batch, limit_bytes=limit_bytes)
    return records if header.is_compressed else [record for record in records if record.offset >= first_offset]


def _message_set(header: AnyHeader, records: list[Record], to_magic: int) -> bytes:
    log_append_time = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    try:
        builder = MessageSetBuilder(
            magic=to_magic,
            codec=header.codec,
            timestamp_type=header.timestamp_type or TimestampType.CREATE_TIME,
            log_append_time=header.max_timestamp if log_append_time else NO_TIMESTAMP,
            base_offset=records[0].offset,
        )
        for record in records:
            builder.append_with_offset(record.offset, record.timestamp, record.key, record.value)
    except ValueError as error:
        raise UnwritableRecord(str(error)) from None
    return builder.build()


def _chunks(
    batches: Iterator[tuple[AnyHeader, memoryview]], max_bytes: int, to_magic: int, first_offset: int, limit_bytes: int
) -> Iterator[bytes]:
    """Convert batches by chunks of up to `max_bytes`, at least one batch per chunk; empty results are omitted.

    Mirrors LazyDownConversionRecords.Iterator.
    """
    following = next(batches, None)
    while following is not None:
        chunk = [following]
        size = len(following[1])
        following = next(batches, None)
        while following is not None and size + len(following[1]) <= max_bytes:
            chunk.append(following)
            size += len(following[1])
            following = next(batches, None)
        converted = _convert(chunk, to_magic, first_offset, limit_bytes).records
        if converted:
            yield converted


def _overflow_batch(room: int) -> bytes:
    """Return the beginning of a batch that is one byte larger than the room for it. Mirrors buildOverflowBatch."""
    length = max(room + 1, RECORD_BATCH_OVERHEAD).to_bytes(4, "big")
    return (_OVERFLOW_OFFSET + length).ljust(max(LOG_OVERHEAD, min(room + 1, MAX_READ_BYTES)), b"\x00")
