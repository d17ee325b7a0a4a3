"""Message sets of magic 0 and 1 (before KIP-98), and how a broker writes into one. Mirrors LegacyRecord and friends.

Headers are in message_peek, building in message_set_builder, reading in message_set_reader; their public names are
here too.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

from protocol_specs.records.batch_peek import (
    COMPRESSION_CODEC_MASK,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    TIMESTAMP_TYPE_MASK,
    TimestampType,
)
from protocol_specs.records.message_peek import (
    MAGIC_V0,
    MAGIC_V1,
    RECORD_OVERHEAD_V0,
    RECORD_OVERHEAD_V1,
    MessageHeader,
    check_message,
    peek_message,
)
from protocol_specs.records.message_set_builder import MessageSetBuilder, encode_message, message_size
from protocol_specs.records.message_set_reader import (
    Message,
    first_offset,
    iterate_messages,
    messages_section,
    read_messages,
)

__all__ = [
    "MAGIC_V0",
    "MAGIC_V1",
    "RECORD_OVERHEAD_V0",
    "RECORD_OVERHEAD_V1",
    "Message",
    "MessageHeader",
    "MessageSetBuilder",
    "check_message",
    "encode_message",
    "first_offset",
    "iterate_messages",
    "message_size",
    "messages_section",
    "peek_message",
    "read_messages",
    "with_offset",
    "with_timestamp",
]

_AFTER_TIMESTAMP: Final = MAGIC_OFFSET + 10
_attributes_and_timestamp = struct.Struct(">Bq")


def with_offset(message: bytes | memoryview, offset: int) -> bytes:
    """Return the message at another offset, which its checksum does not cover. Mirrors setLastOffset."""
    header = peek_message(message)
    return b"".join((offset.to_bytes(8, "big", signed=True), message[8 : header.size_in_bytes]))


def with_timestamp(message: bytes | memoryview, timestamp_type: TimestampType, timestamp: int) -> bytes:
    """Return the message of magic 1 with another timestamp. Mirrors setMaxTimestamp. Raises ValueError for magic 0.

    A wrapper's messages stay as they are: with LOG_APPEND_TIME readers take the wrapper's timestamp for them.
    """
    header = peek_message(message)
    if header.magic == MAGIC_V0:
        raise ValueError("messages of magic 0 have no timestamp")
    if header.timestamp == timestamp and header.timestamp_type is timestamp_type:
        return bytes(message[: header.size_in_bytes])
    attributes = header.attributes & COMPRESSION_CODEC_MASK
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        attributes |= TIMESTAMP_TYPE_MASK
    body = b"".join(
        (
            bytes((header.magic,)),
            _attributes_and_timestamp.pack(attributes, timestamp),
            message[_AFTER_TIMESTAMP : header.size_in_bytes],
        )
    )
    return b"".join((message[:LOG_OVERHEAD], zlib.crc32(body).to_bytes(4, "big"), body))
