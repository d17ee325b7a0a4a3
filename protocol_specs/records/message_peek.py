"""The header of a message of magic 0 or 1, read without its key and value. Mirrors LegacyRecord.

On the wire a message set is nothing but messages one after another: int64 offset, int32 size, then the message itself.
A compressed set is one message, the wrapper, whose value holds the set; its offset is that of the last message inside.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from protocol_specs.errors import ChecksumMismatch, CorruptRecordBatch, TruncatedRecordBatch, UnsupportedMagic
from protocol_specs.records.batch_peek import (
    COMPRESSION_CODEC_MASK,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_MASK,
    TimestampType,
)
from protocol_specs.records.compression import CompressionCodec

if TYPE_CHECKING:
    from typing import Literal

MAGIC_V0: Final = 0
MAGIC_V1: Final = 1

# Checksum, magic and attributes, in magic 1 the timestamp; then the sizes of key and value.
RECORD_OVERHEAD_V0: Final = 14
RECORD_OVERHEAD_V1: Final = 22
KEY_OFFSET: Final = (LOG_OVERHEAD + 6, LOG_OVERHEAD + 14)
"""By magic: the position of the key's size, counted from the offset field."""
MIN_MESSAGE_BYTES: Final = LOG_OVERHEAD + RECORD_OVERHEAD_V0
"""The smallest message of either magic: a header of magic 1 takes as many bytes."""

_header = struct.Struct(">qiIBBq")


# Positional, because it is made from the unpacked struct, for every message.
@dataclass(slots=True)
class MessageHeader:
    """The fields of a message in wire order, and the values that Kafka derives. Fields of batches have no value."""

    offset: int
    size: int
    crc: int
    magic: int
    attributes: int
    timestamp: int

    @property
    def codec(self) -> CompressionCodec:
        """The codec of the messages inside; raises UnknownCodec."""
        return CompressionCodec.for_id(self.attributes & COMPRESSION_CODEC_MASK)

    @property
    def is_compressed(self) -> bool:
        """True if the codec bits are not those of `none`: the message is a wrapper."""
        return bool(self.attributes & COMPRESSION_CODEC_MASK)

    @property
    def timestamp_type(self) -> TimestampType | None:
        """The source of the timestamp; messages of magic 0 have none."""
        if self.magic == MAGIC_V0:
            return None
        return TimestampType.LOG_APPEND_TIME if self.attributes & TIMESTAMP_TYPE_MASK else TimestampType.CREATE_TIME

    @property
    def max_timestamp(self) -> int:
        """The timestamp, which in a wrapper is the largest of those inside, or the broker's."""
        return self.timestamp

    @property
    def size_in_bytes(self) -> int:
        """The whole message, its offset and size included."""
        return LOG_OVERHEAD + self.size

    @property
    def last_offset(self) -> int:
        """The offset of the message, or of the last one inside."""
        return self.offset

    @property
    def next_offset(self) -> int:
        """The offset after the message."""
        return self.offset + 1

    @property
    def partition_leader_epoch(self) -> int:
        """Messages have no leader epoch."""
        return NO_PARTITION_LEADER_EPOCH

    @property
    def producer_id(self) -> int:
        """Messages have no producer."""
        return NO_PRODUCER_ID

    @property
    def producer_epoch(self) -> int:
        """Messages have no producer."""
        return NO_PRODUCER_EPOCH

    @property
    def base_sequence(self) -> int:
        """Messages have no producer."""
        return NO_SEQUENCE

    @property
    def last_sequence(self) -> int:
        """Messages have no producer."""
        return NO_SEQUENCE

    @property
    def has_producer_id(self) -> Literal[False]:
        """Messages have no producer."""
        return False

    @property
    def is_transactional(self) -> Literal[False]:
        """Messages have no transactions."""
        return False

    @property
    def is_control(self) -> Literal[False]:
        """There are no control messages."""
        return False

    @property
    def delete_horizon_ms(self) -> None:
        """Messages have no delete horizon."""
        return

    @property
    def records_count(self) -> None:
        """Unknown: the number of messages in a wrapper requires decompression."""
        return


def peek_message(buffer: bytes | memoryview, position: int = 0) -> MessageHeader:
    """Read the header at `position`; raises TruncatedRecordBatch, UnsupportedMagic. Nothing else is checked."""
    available = len(buffer) - position
    if available > MAGIC_OFFSET and buffer[position + MAGIC_OFFSET] > MAGIC_V1:
        raise UnsupportedMagic(buffer[position + MAGIC_OFFSET], "0 or 1")
    if available < MIN_MESSAGE_BYTES:
        raise TruncatedRecordBatch(MIN_MESSAGE_BYTES, available)
    return message_header(buffer, position)


def message_header(buffer: bytes | memoryview, position: int) -> MessageHeader:
    """Read the header at `position` for any magic: an unknown one inside a wrapper is read as magic 1."""
    header = MessageHeader(*_header.unpack_from(buffer, position))
    if header.magic == MAGIC_V0:
        header.timestamp = NO_TIMESTAMP
    return header


def check_message(buffer: bytes | memoryview, position: int = 0) -> MessageHeader:
    """Read the header of a complete and valid message. Mirrors LegacyRecord.ensureValid.

    Raises CorruptRecordBatch (too small a size), TruncatedRecordBatch, ChecksumMismatch, UnsupportedMagic. The messages
    inside a wrapper are not checked.
    """
    header = peek_message(buffer, position)
    if header.size < RECORD_OVERHEAD_V0:
        raise CorruptRecordBatch(f"message of {header.size} bytes, the smallest has {RECORD_OVERHEAD_V0}")
    if len(buffer) - position < header.size_in_bytes:
        raise TruncatedRecordBatch(header.size_in_bytes, len(buffer) - position)
    verify_message_checksum(header, memoryview(buffer)[position : position + header.size_in_bytes])
    return header


def verify_message_checksum(header: MessageHeader, message: bytes | memoryview) -> None:
    """Raise ChecksumMismatch where the CRC-32 of the message is not the one it stores."""
    computed = zlib.crc32(memoryview(message)[MAGIC_OFFSET:])
    if computed != header.crc:
        raise ChecksumMismatch(header.crc, computed)
