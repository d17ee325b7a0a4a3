"""Building message sets of magic 0 and 1. Mirrors MemoryRecordsBuilder and LegacyRecord.write for these formats.

Without compression a set is its messages. With it they go into a wrapper: in magic 1 their offsets count from the base
offset, in magic 0 they are absolute; the wrapper has the last offset and, in magic 1, the largest timestamp, or the
broker's time for LogAppendTime.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

from protocol_specs.records.batch_peek import LOG_OVERHEAD, NO_TIMESTAMP, TIMESTAMP_TYPE_MASK, TimestampType
from protocol_specs.records.compression import CompressionCodec, compress
from protocol_specs.records.message_peek import MAGIC_V0, MAGIC_V1, RECORD_OVERHEAD_V0, RECORD_OVERHEAD_V1

_offset_and_size = struct.Struct(">qi")
_magic_and_attributes = struct.Struct(">BB")
_magic_to_timestamp = struct.Struct(">BBq")
_int32 = struct.Struct(">i")
_uint32 = struct.Struct(">I")
_NULL: Final = _int32.pack(-1)
_INT32_MAX: Final = 0x7FFF_FFFF


class MessageSetBuilder:
    """Builds one message set: append records, then `build`, which does not change the builder."""

    __slots__ = (
        "_count",
        "_last_offset",
        "_max_timestamp",
        "_parts",
        "base_offset",
        "codec",
        "level",
        "log_append_time",
        "magic",
        "size_in_bytes",
        "timestamp_type",
    )

    def __init__(
        self,
        *,
        magic: int,
        codec: CompressionCodec = CompressionCodec.NONE,
        level: int | None = None,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        log_append_time: int = NO_TIMESTAMP,
        base_offset: int = 0,
    ) -> None:
        """Start an empty set; with LOG_APPEND_TIME every message of magic 1 gets `log_append_time`."""
        if magic not in (MAGIC_V0, MAGIC_V1):
            raise ValueError(f"a message set has magic 0 or 1, not {magic}")
        if codec == CompressionCodec.ZSTD:
            raise ValueError(f"zstd compression is not supported in magic {magic}")
        self.magic = magic
        self.codec = codec
        self.level = level
        self.timestamp_type = timestamp_type
        self.log_append_time = log_append_time
        self.base_offset = base_offset
        self.size_in_bytes = 0 if codec == CompressionCodec.NONE else LOG_OVERHEAD + _overhead(magic)
        self._parts: list[bytes] = []
        self._count = 0
        self._last_offset = base_offset - 1
        self._max_timestamp = NO_TIMESTAMP

    @property
    def records_count(self) -> int:
        """The number of appended records."""
        return self._count

    @property
    def last_offset(self) -> int:
        """The offset of the last record; without one, the offset before the first."""
        return self._last_offset

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp so far, or -1: also in magic 0, which keeps none."""
        return self._max_timestamp

    def append(self, timestamp_ms: int, key: bytes | None, value: bytes | None) -> int:
        """Add a record at the next offset; return its size."""
        return self.append_with_offset(self._last_offset + 1, timestamp_ms, key, value)

    def append_with_offset(self, offset: int, timestamp_ms: int, key: bytes | None, value: bytes | None) -> int:
        """Add a record at an offset after the last one. Raises ValueError for an invalid offset or timestamp."""
        if self._count and offset <= self._last_offset:
            raise ValueError(f"offset {offset} is not after the set's last, {self._last_offset}")
        if offset - self.base_offset > _INT32_MAX:
            raise ValueError(f"offset {offset} is more than 2**31 - 1 after the base offset {self.base_offset}")
        if timestamp_ms < NO_TIMESTAMP:
            raise ValueError(f"timestamp {timestamp_ms} is negative")
        attributes = 0
        if self.magic == MAGIC_V1 and self.timestamp_type == TimestampType.LOG_APPEND_TIME:
            timestamp_ms = self.log_append_time
            attributes = TIMESTAMP_TYPE_MASK
        relative = self.magic == MAGIC_V1 and self.codec != CompressionCodec.NONE
        message = encode_message(
            offset - self.base_offset if relative else offset,
            timestamp_ms,
            key,
            value,
            magic=self.magic,
            attributes=attributes,
        )
        self._parts.append(message)
        self._count += 1
        self._last_offset = offset
        if self.magic == MAGIC_V1:
            self._max_timestamp = max(self._max_timestamp, timestamp_ms)
        self.size_in_bytes += len(message)
        return len(message)

    def build(self) -> bytes:
        """Return the set; one without records is empty, as in Kafka."""
        messages = b"".join(self._parts)
        if self.codec == CompressionCodec.NONE or not self._count:
            return messages
        log_append_time = self.timestamp_type == TimestampType.LOG_APPEND_TIME
        attributes = int(self.codec)
        if self.magic == MAGIC_V1 and log_append_time:
            attributes |= TIMESTAMP_TYPE_MASK
        return encode_message(
            self._last_offset,
            self.log_append_time if log_append_time else self._max_timestamp,
            None,
            compress(self.codec, messages, self.level, magic=self.magic),
            magic=self.magic,
            attributes=attributes,
        )


def encode_message(
    offset: int,
    timestamp: int,
    key: bytes | None,
    value: bytes | memoryview | None,
    *,
    magic: int,
    attributes: int = 0,
) -> bytes:
    """Encode a message with offset, size and checksum, and any attributes, also invalid ones.

    Magic 0 has no timestamp. Raises struct.error if a number is wider than its field.
    """
    if magic == MAGIC_V0:
        head = _magic_and_attributes.pack(magic, attributes)
    else:
        head = _magic_to_timestamp.pack(magic, attributes, timestamp)
    body = b"".join(
        (
            head,
            _NULL if key is None else _int32.pack(len(key)),
            key or b"",
            _NULL if value is None else _int32.pack(len(value)),
            value or b"",
        )
    )
    return b"".join((_offset_and_size.pack(offset, len(body) + 4), _uint32.pack(zlib.crc32(body)), body))


def message_size(magic: int, key: bytes | None, value: bytes | None) -> int:
    """Return the size of the result of encode_message."""
    return LOG_OVERHEAD + _overhead(magic) + len(key or b"") + len(value or b"")


def _overhead(magic: int) -> int:
    return RECORD_OVERHEAD_V0 if magic == MAGIC_V0 else RECORD_OVERHEAD_V1
