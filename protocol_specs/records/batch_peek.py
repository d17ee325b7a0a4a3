"""The header of a record batch of magic 2, read without its records. Mirrors DefaultRecordBatch.

`peek_header` reads and checks nothing but the 61 bytes of the header; `check_batch` adds the checks that Kafka makes
before it reads records: the size exceeds that of a header, the batch is in the buffer, the checksum is right.
`iterate_batches` mirrors ByteBufferLogInputStream.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from protocol_specs.errors import (
    ChecksumMismatch,
    CorruptRecordBatch,
    TruncatedRecordBatch,
    UnsupportedMagic,
)
from protocol_specs.records.checksums import crc32c
from protocol_specs.records.compression import CompressionCodec

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC_V2: Final = 2
LOG_OVERHEAD: Final = 12
MAGIC_OFFSET: Final = 16
HEADER_SIZE_UP_TO_MAGIC: Final = 17
CRC_OFFSET: Final = 17
ATTRIBUTES_OFFSET: Final = 21
RECORDS_COUNT_OFFSET: Final = 57
RECORD_BATCH_OVERHEAD: Final = 61
# The smallest size field that Kafka's log reader takes for a message of any magic (LegacyRecord.RECORD_OVERHEAD_V0).
MIN_BATCH_LENGTH: Final = 14

COMPRESSION_CODEC_MASK: Final = 0x07
TIMESTAMP_TYPE_MASK: Final = 0x08
TRANSACTIONAL_FLAG_MASK: Final = 0x10
CONTROL_FLAG_MASK: Final = 0x20
DELETE_HORIZON_FLAG_MASK: Final = 0x40

NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_PARTITION_LEADER_EPOCH: Final = -1

UP_TO_CRC: Final = struct.Struct(">qiibI")
COVERED_BY_CRC: Final = struct.Struct(">hiqqqhii")
HEADER: Final = struct.Struct(UP_TO_CRC.format + COVERED_BY_CRC.format[1:])
"""All fields in wire order, as BatchHeader names them."""

_size_and_magic = struct.Struct(">8xi4xb")
_INT32_MAX: Final = 0x7FFF_FFFF


class TimestampType(IntEnum):
    """The source of a batch's timestamps (`message.timestamp.type`)."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


# Positional, because it is made from the unpacked struct, for every batch.
@dataclass(slots=True)
class BatchHeader:
    """The fields of a batch header in wire order, and what Kafka derives from them."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def codec(self) -> CompressionCodec:
        """The codec of the records; raises UnknownCodec."""
        return CompressionCodec.for_id(self.attributes & COMPRESSION_CODEC_MASK)

    @property
    def is_compressed(self) -> bool:
        """True if the codec bits are not those of `none`."""
        return bool(self.attributes & COMPRESSION_CODEC_MASK)

    @property
    def timestamp_type(self) -> TimestampType:
        """The type of the timestamps: those of the records, or the batch's max timestamp for all of them."""
        if self.attributes & TIMESTAMP_TYPE_MASK:
            return TimestampType.LOG_APPEND_TIME
        return TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        """True if the batch belongs to a transaction."""
        return bool(self.attributes & TRANSACTIONAL_FLAG_MASK)

    @property
    def is_control(self) -> bool:
        """True if the batch holds control records, which consumers do not return."""
        return bool(self.attributes & CONTROL_FLAG_MASK)

    @property
    def delete_horizon_ms(self) -> int | None:
        """The time from which compaction may drop the batch's tombstones; it replaces the base timestamp."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_FLAG_MASK else None

    @property
    def has_producer_id(self) -> bool:
        """True if an idempotent producer wrote the batch."""
        return self.producer_id > NO_PRODUCER_ID

    @property
    def size_in_bytes(self) -> int:
        """The whole batch, header included."""
        return LOG_OVERHEAD + self.batch_length

    @property
    def last_offset(self) -> int:
        """The offset of the last record, or of the last one that compaction removed."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The offset after the batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; sequences wrap from 2**31 - 1 to 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return increment_sequence(self.base_sequence, self.last_offset_delta)

    def pack(self) -> bytes:
        """Encode the 61 bytes. Raises struct.error if a field does not fit its width."""
        return HEADER.pack(
            self.base_offset,
            self.batch_length,
            self.partition_leader_epoch,
            self.magic,
            self.crc,
            self.attributes,
            self.last_offset_delta,
            self.base_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.records_count,
        )


def peek_header(buffer: bytes | memoryview, position: int = 0) -> BatchHeader:
    """Read the header at `position`; raises TruncatedRecordBatch, UnsupportedMagic. Nothing else is checked."""
    if len(buffer) - position < RECORD_BATCH_OVERHEAD:
        if len(buffer) - position > MAGIC_OFFSET:
            _expect_magic_v2(buffer[position + MAGIC_OFFSET])
        raise TruncatedRecordBatch(RECORD_BATCH_OVERHEAD, len(buffer) - position)
    header = BatchHeader(*HEADER.unpack_from(buffer, position))
    if header.magic != MAGIC_V2:
        raise UnsupportedMagic(header.magic)
    return header


def check_batch(buffer: bytes | memoryview, position: int = 0) -> BatchHeader:
    """Read the header of a complete and valid batch. Mirrors DefaultRecordBatch.ensureValid.

    Raises CorruptRecordBatch (too small a size), TruncatedRecordBatch, ChecksumMismatch, UnsupportedMagic.
    """
    header = peek_header(buffer, position)
    size = header.size_in_bytes
    if size < RECORD_BATCH_OVERHEAD:
        raise CorruptRecordBatch(f"record batch of {size} bytes, a header alone has {RECORD_BATCH_OVERHEAD}")
    if len(buffer) - position < size:
        raise TruncatedRecordBatch(size, len(buffer) - position)
    computed = crc32c(memoryview(buffer)[position + ATTRIBUTES_OFFSET : position + size])
    if computed != header.crc:
        raise ChecksumMismatch(header.crc, computed)
    return header


def iterate_batches(buffer: bytes | memoryview) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Walk a record set: each whole batch's header and bytes; a truncated batch at the end is ignored.

    Checksums are not verified. Raises CorruptRecordBatch for an impossible size or magic, UnsupportedMagic for 0 and 1.
    """
    view = memoryview(buffer)
    position = 0
    end = len(view)
    while (frame := next_frame(view, position, end)) is not None:
        magic, next_position = frame
        _expect_magic_v2(magic)
        _expect_length(next_position - position - LOG_OVERHEAD, RECORD_BATCH_OVERHEAD - LOG_OVERHEAD)
        yield BatchHeader(*HEADER.unpack_from(view, position)), view[position:next_position]
        position = next_position


def next_frame(
    view: memoryview, position: int, end: int, *, max_message_size: int = _INT32_MAX
) -> tuple[int, int] | None:
    """Return magic and end of the batch or message at `position`, None if the buffer ends before it.

    Raises CorruptRecordBatch for an impossible size or magic. Mirrors ByteBufferLogInputStream.nextBatchSize.
    """
    left = end - position
    if left < LOG_OVERHEAD:
        return None
    if left < HEADER_SIZE_UP_TO_MAGIC:
        magic = 0
        length = int.from_bytes(view[position + 8 : position + LOG_OVERHEAD], "big", signed=True)
    else:
        length, magic = _size_and_magic.unpack_from(view, position)
    _expect_length(length, MIN_BATCH_LENGTH)
    if length > max_message_size:
        raise CorruptRecordBatch(f"record batch length {length} is more than the largest allowed, {max_message_size}")
    if not 0 <= magic <= MAGIC_V2:
        raise CorruptRecordBatch(f"record batch has magic {magic}")
    return (magic, position + LOG_OVERHEAD + length) if left >= LOG_OVERHEAD + length else None


def increment_sequence(sequence: int, increment: int) -> int:
    """Add to a sequence number, which wraps from 2**31 - 1 to 0. Mirrors DefaultRecordBatch.incrementSequence."""
    if increment < 0:  # only a hostile last offset delta is; Java's int arithmetic wraps
        if sequence > _wrap_int32(_INT32_MAX - increment):
            return _wrap_int32(increment - (_INT32_MAX - sequence) - 1)
        return _wrap_int32(sequence + increment)
    if sequence > _INT32_MAX - increment:
        return increment - (_INT32_MAX - sequence) - 1
    return sequence + increment


def decrement_sequence(sequence: int, decrement: int) -> int:
    """Subtract from a sequence number; 0 wraps to 2**31 - 1. Mirrors DefaultRecordBatch.decrementSequence."""
    if sequence < decrement:
        return _INT32_MAX - (decrement - sequence) + 1
    return sequence - decrement


def _wrap_int32(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _expect_magic_v2(magic: int) -> None:
    if magic != MAGIC_V2:
        raise UnsupportedMagic(magic)


def _expect_length(length: int, minimum: int) -> None:
    if length < minimum:
        raise CorruptRecordBatch(f"record batch length {length} is less than the minimum of {minimum}")
