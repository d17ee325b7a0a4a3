"""Reads messages of magic 0 and 1, also inside wrappers. Mirrors AbstractLegacyRecordBatch and its deep iterator.

Contents are copied on first use. A wrapper is decompressed once, to at most `limit_bytes`; its messages are walked
twice, because in magic 1 the offset of the first one is computed from that of the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol_specs.errors import CorruptRecordBatch, InvalidRecord, MalformedMessage, TruncatedRecordBatch
from protocol_specs.records.batch_peek import LOG_OVERHEAD, TimestampType
from protocol_specs.records.compression import CompressionCodec, decompress
from protocol_specs.records.message_peek import (
    KEY_OFFSET,
    MAGIC_V0,
    MAGIC_V1,
    RECORD_OVERHEAD_V0,
    MessageHeader,
    message_header,
    peek_message,
    verify_message_checksum,
)
from protocol_specs.records.record_reader import MAX_DECOMPRESSED_BYTES, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

_INT64_HALF: Final = 1 << 63


class Message:
    """One message, from a set or from a wrapper, which then determines offset and timestamp."""

    __slots__ = ("data", "header", "offset", "timestamp", "timestamp_type")

    def __init__(self, header: MessageHeader, data: memoryview, offset: int, wrapper: MessageHeader | None) -> None:
        self.header = header
        self.data = data
        self.offset = offset
        self.timestamp = header.timestamp
        self.timestamp_type = header.timestamp_type
        if wrapper is not None and header.magic == MAGIC_V1:
            self.timestamp_type = wrapper.timestamp_type
            if wrapper.timestamp_type is TimestampType.LOG_APPEND_TIME:
                self.timestamp = wrapper.timestamp

    @property
    def key(self) -> bytes | None:
        """The key; raises MalformedMessage."""
        size = self._size_at(self._key_position, "key")
        return None if size < 0 else bytes(self.data[self._key_position + 4 : self._key_position + 4 + size])

    @property
    def has_key(self) -> bool:
        """True if there is a key, also if its size exceeds the message."""
        return int.from_bytes(self.data[self._key_position : self._key_position + 4], "big", signed=True) >= 0

    @property
    def value(self) -> bytes | None:
        """The value, copied; raises MalformedMessage."""
        value = self.value_view()
        return None if value is None else bytes(value)

    def value_view(self) -> memoryview | None:
        """A view of the value. Raises MalformedMessage."""
        position = self._key_position + 4 + max(0, self._size_at(self._key_position, "key"))
        size = self._size_at(position, "value")
        return None if size < 0 else self.data[position + 4 : position + 4 + size]

    def record(self) -> Record:
        """The message with its key and value; raises MalformedMessage."""
        return Record(
            offset=self.offset,
            timestamp=self.timestamp,
            key=self.key,
            value=self.value,
            attributes=self.header.attributes,
        )

    def ensure_valid(self) -> None:
        """Check the message's own checksum. Raises ChecksumMismatch."""
        verify_message_checksum(self.header, self.data)

    @property
    def _key_position(self) -> int:
        return KEY_OFFSET[0 if self.header.magic == MAGIC_V0 else 1]

    def _size_at(self, position: int, field: str) -> int:
        left = len(self.data) - position - 4
        if left < 0:
            raise MalformedMessage(f"size of the {field}", 4, left + 4)
        size = int.from_bytes(self.data[position : position + 4], "big", signed=True)
        if size > left:
            raise MalformedMessage(field, size, left)
        return size


def iterate_messages(message: bytes | memoryview, *, limit_bytes: int = MAX_DECOMPRESSED_BYTES) -> Iterator[Message]:
    """Walk the message at the start of the buffer, or the messages inside it if it is a wrapper.

    Checksums are not verified (see check_message, Message.ensure_valid). An incomplete message at the end of a
    wrapper is ignored, as in Kafka. Raises a RecordBatchError when the walk reaches a fault: InvalidRecord for an empty
    wrapper, a wrapper inside a wrapper or an impossible offset, CorruptRecordBatch for an impossible size.
    """
    header = peek_message(message)
    if len(message) < header.size_in_bytes:
        raise TruncatedRecordBatch(header.size_in_bytes, len(message))
    outer = Message(header, memoryview(message)[: header.size_in_bytes], header.offset, None)
    if not header.is_compressed:
        yield outer
        return
    inner = memoryview(_decompressed(outer, limit_bytes))
    base_offset = _absolute_base_offset(header, inner)
    for index, (start, end) in enumerate(_walk(inner)):
        inner_header = message_header(inner, start)
        if inner_header.codec is not CompressionCodec.NONE:
            raise InvalidRecord(index, start, "a message inside of a wrapper is compressed")
        offset = _wrap_int64(base_offset + inner_header.offset)
        yield Message(inner_header, inner[start:end], offset, header)


def read_messages(message: bytes | memoryview, *, limit_bytes: int = MAX_DECOMPRESSED_BYTES) -> list[Record]:
    """Read the records of the message at the start of the buffer; errors are those of iterate_messages."""
    return [found.record() for found in iterate_messages(message, limit_bytes=limit_bytes)]


def first_offset(message: bytes | memoryview, *, limit_bytes: int = MAX_DECOMPRESSED_BYTES) -> int:
    """Return the first offset; a wrapper is decompressed for it. Mirrors AbstractLegacyRecordBatch.baseOffset."""
    return next(iterate_messages(message, limit_bytes=limit_bytes)).offset


def messages_section(message: bytes | memoryview, *, limit_bytes: int = MAX_DECOMPRESSED_BYTES) -> bytes:
    """Return the message set inside the wrapper at the start of the buffer, decompressed and otherwise unchanged."""
    header = peek_message(message)
    if len(message) < header.size_in_bytes:
        raise TruncatedRecordBatch(header.size_in_bytes, len(message))
    return _decompressed(Message(header, memoryview(message)[: header.size_in_bytes], header.offset, None), limit_bytes)


def _decompressed(wrapper: Message, limit_bytes: int) -> bytes:
    codec = wrapper.header.codec
    if codec is CompressionCodec.ZSTD:
        raise InvalidRecord(0, 0, f"a wrapper of magic {wrapper.header.magic} cannot be compressed with zstd")
    value = wrapper.value_view()
    if value is None:
        raise InvalidRecord(0, 0, f"a wrapper of magic {wrapper.header.magic} has no value")
    return decompress(codec, value, limit_bytes=limit_bytes, magic=wrapper.header.magic)


def _absolute_base_offset(header: MessageHeader, inner: memoryview) -> int:
    """Return the number to add to the inner offsets. Also checks every size, as Kafka does before the first message."""
    last = -1
    for last, _ in _walk(inner):  # noqa: B007 - the last one counts
        pass
    if last < 0:
        raise InvalidRecord(0, 0, "a wrapper holds no message")
    # Some versions of librdkafka produced wrappers with offset 0.
    if header.magic == MAGIC_V0 or header.offset == 0:
        return 0
    last_inner_offset = int.from_bytes(inner[last : last + 8], "big", signed=True)
    if header.offset < last_inner_offset:
        reason = f"wrapper offset {header.offset} is less than the last one inside, {last_inner_offset}, and not zero"
        raise InvalidRecord(0, last, reason)
    return _wrap_int64(header.offset - last_inner_offset)


def _walk(inner: memoryview) -> Iterator[tuple[int, int]]:
    position = 0
    while len(inner) - position >= LOG_OVERHEAD:
        size = int.from_bytes(inner[position + 8 : position + LOG_OVERHEAD], "big", signed=True)
        if size < RECORD_OVERHEAD_V0:
            raise CorruptRecordBatch(
                f"message of {size} bytes inside of a wrapper, the smallest has {RECORD_OVERHEAD_V0}"
            )
        end = position + LOG_OVERHEAD + size
        if end > len(inner):
            return
        yield position, end
        position = end


def _wrap_int64(value: int) -> int:
    """Java's long arithmetic, which overflows for hostile offsets."""
    return (value + _INT64_HALF) % (2 * _INT64_HALF) - _INT64_HALF
