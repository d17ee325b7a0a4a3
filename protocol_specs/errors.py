"""The errors of protocol_specs, with the Kafka class that each one mirrors.

Every error keeps its parts as attributes and can be pickled; its text is made on demand. Errors about record batches
also have `error_code`: the code in a broker's response to a Produce of such a batch.
"""

from __future__ import annotations

from typing import ClassVar

from protocol_specs.error_codes import ErrorCode
from protocol_specs.spelling import close_names


class ProtocolError(Exception):
    """Base class of the errors about a peer's bytes or a caller's values."""


class MessageDecodeError(ProtocolError):
    """A message's bytes do not fit its layout. `position` counts from the start of the decoded buffer."""

    def __init__(self, message: str, version: int, path: str, position: int, reason: str) -> None:
        super().__init__(message, version, path, position, reason)
        self.message = message
        self.version = version
        self.path = path
        self.position = position
        self.reason = reason

    def __str__(self) -> str:
        return f"{_place(self.message, self.version, self.path)}, byte {self.position}: {self.reason}"


class MessageEndsInNumber(MessageDecodeError):
    """A message's bytes end before or within a number, which is a BufferUnderflowException in Java."""


class MessageEncodeError(ProtocolError):
    """A message's values cannot be encoded in the requested version."""

    def __init__(self, message: str, version: int, path: str, reason: str) -> None:
        super().__init__(message, version, path, reason)
        self.message = message
        self.version = version
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{_place(self.message, self.version, self.path)}: {self.reason}"


class FieldNotInVersion(MessageEncodeError):
    """A field that the version lacks is not at its default. Mirrors UnsupportedVersionException."""


class UnsupportedVersion(ProtocolError):
    """A message has no such version, which may be no number. Mirrors UnsupportedVersionException."""

    def __init__(self, message: str, version: object, versions: str) -> None:
        super().__init__(message, version, versions)
        self.message = message
        self.version = version
        self.versions = versions

    def __str__(self) -> str:
        return f"{self.message} has no version {self.version!r}: its versions are {self.versions}"


class UnknownApi(ProtocolError):
    """No such API key or name (`what`: of what kind); `nearest` are names that resemble it, `known` the valid keys."""

    def __init__(self, requested: str, nearest: tuple[str, ...] = (), *, what: str = "API", known: str = "") -> None:
        super().__init__(requested, nearest)
        self.requested = requested
        self.nearest = nearest
        self.what = what
        self.known = known

    def __str__(self) -> str:
        if self.nearest:
            return f"no {self.what} {self.requested}: did you mean {' or '.join(self.nearest)}?"
        return f"no {self.what} {self.requested}" + (f": {self.known}" if self.known else "")


class UnknownRecordType(ProtocolError):
    """A log's record has a type that no schema of that log has. Mirrors UnknownRecordTypeException."""

    def __init__(self, log: str, record_type: int, known: tuple[int, ...]) -> None:
        super().__init__(log, record_type, known)
        self.log = log
        self.record_type = record_type
        self.known = known

    def __str__(self) -> str:
        return f"{self.log} has no record type {self.record_type}: its types are {', '.join(map(str, self.known))}"


class FrameError(ProtocolError):
    """A frame with an invalid size; the connection is closed. Mirrors InvalidReceiveException."""


class FrameTooLarge(FrameError):
    """The size of a frame exceeds the limit; `option` names the setting of the limit."""

    def __init__(self, size: int, limit_bytes: int, option: str) -> None:
        super().__init__(size, limit_bytes, option)
        self.size = size
        self.limit_bytes = limit_bytes
        self.option = option

    def __str__(self) -> str:
        return f"frame of {self.size} bytes, {self.option} allows {self.limit_bytes}"


class NegativeFrameSize(FrameError):
    """The size of a frame is negative."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size

    def __str__(self) -> str:
        return f"frame size {self.size} is negative"


class UnknownRelease(ProtocolError):
    """There is no table of the requested release."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(name, known)
        self.name = name
        self.known = known

    def __str__(self) -> str:
        near = self._nearest()
        hint = f"; did you mean {near}?" if near else ""
        few = len(self.known) <= 4
        known = ", ".join(self.known) if few else f"{len(self.known)} from {self.known[0]} to {self.known[-1]}"
        return f"no broker release {self.name!r} is known{hint} (known: {known})"

    def _nearest(self) -> str | None:
        """The newest release with the same first numbers, else the one below or above, else one with a similar name.

        A word before the first number, as in `v3.7`, does not matter.
        """
        from re import search

        number = search(r"\d.*", self.name)
        requested = (number[0] if number else self.name).split(".")
        for same in range(len(requested), 0, -1):
            if alike := [known for known in self.known if known.split(".")[:same] == requested[:same]]:
                return alike[-1]
        if requested[0].isdecimal() and self.known[0].partition(".")[0].isdecimal():
            below = [known for known in self.known if int(known.partition(".")[0]) < int(requested[0])]
            return (below or self.known)[-1]
        return next(iter(close_names(self.name, self.known)), None)


class RecordBatchError(ProtocolError):
    """A record batch that cannot be used; `error_code` is the code that a broker returns for it."""

    error_code: ClassVar[ErrorCode] = ErrorCode.UNKNOWN_SERVER_ERROR


class CorruptRecordBatch(RecordBatchError):
    """The batch's frame or checksum is wrong. Mirrors CorruptRecordException."""

    error_code = ErrorCode.CORRUPT_MESSAGE


class TruncatedRecordBatch(CorruptRecordBatch):
    """The buffer ends before the batch does. `needed` and `available` count bytes from the batch's start."""

    def __init__(self, needed: int, available: int) -> None:
        super().__init__(needed, available)
        self.needed = needed
        self.available = available

    def __str__(self) -> str:
        return f"record batch needs {self.needed} bytes, {self.available} bytes left"


class ChecksumMismatch(CorruptRecordBatch):
    """The stored CRC-32C is not the one of the bytes."""

    def __init__(self, stored: int, computed: int) -> None:
        super().__init__(stored, computed)
        self.stored = stored
        self.computed = computed

    def __str__(self) -> str:
        return f"record batch stores crc {self.stored:#010x}, its bytes have {self.computed:#010x}"


class UnsupportedMagic(RecordBatchError):
    """The batch is of another message format than the expected one (magic 0 and 1 are message sets)."""

    error_code = ErrorCode.INVALID_RECORD

    def __init__(self, magic: int, readable: str = "2") -> None:
        super().__init__(magic, readable)
        self.magic = magic
        self.readable = readable

    def __str__(self) -> str:
        return f"record batch of magic {self.magic}, only magic {self.readable} is read here"


class InvalidRecord(RecordBatchError):
    """A record, or the records section as a whole, does not fit its batch. Mirrors InvalidRecordException.

    `record_index` counts from 0 in the batch; `position` is the byte in the (decompressed) records section.
    """

    error_code = ErrorCode.INVALID_RECORD

    def __init__(self, record_index: int, position: int, reason: str) -> None:
        super().__init__(record_index, position, reason)
        self.record_index = record_index
        self.position = position
        self.reason = reason

    def __str__(self) -> str:
        return f"record {self.record_index}, byte {self.position} of the records: {self.reason}"


class MalformedMessage(RecordBatchError):
    """A key or value exceeds its message of magic 0 or 1. Kafka's reader overruns the buffer: error code -1."""

    def __init__(self, field: str, size: int, available: int) -> None:
        super().__init__(field, size, available)
        self.field = field
        self.size = size
        self.available = available

    def __str__(self) -> str:
        return f"message {self.field} of {self.size} bytes, {self.available} bytes left in the message"


class RecordsRejected(RecordBatchError):
    """Records that a topic rejects, with the reason by record index. Mirrors RecordValidationException."""

    error_code = ErrorCode.INVALID_RECORD

    def __init__(self, reasons: dict[int, str]) -> None:
        super().__init__(reasons)
        self.reasons = reasons

    def __str__(self) -> str:
        index, reason = next(iter(self.reasons.items()))
        return f"{len(self.reasons)} records are refused, first record {index}: {reason}"


class TimestampsRejected(RecordsRejected):
    """Records are rejected, some for their timestamp. Mirrors InvalidTimestampException."""

    error_code = ErrorCode.INVALID_TIMESTAMP


class RecordSetTooLarge(RecordBatchError):
    """A batch exceeds the topic's `max.message.bytes`. Mirrors RecordTooLargeException."""

    error_code = ErrorCode.MESSAGE_TOO_LARGE

    def __init__(self, size: int, limit_bytes: int) -> None:
        super().__init__(size, limit_bytes)
        self.size = size
        self.limit_bytes = limit_bytes

    def __str__(self) -> str:
        return f"record batch of {self.size} bytes, max.message.bytes allows {self.limit_bytes}"


class OffsetsOutOfOrder(RecordBatchError):
    """A batch does not end after the one before it. Mirrors OffsetsOutOfOrderException."""

    def __init__(self, last_offset: int, next_last_offset: int) -> None:
        super().__init__(last_offset, next_last_offset)
        self.last_offset = last_offset
        self.next_last_offset = next_last_offset

    def __str__(self) -> str:
        return f"a batch ends at offset {self.next_last_offset}, the one before it at {self.last_offset}"


class UnsupportedForMessageFormat(RecordBatchError):
    """Producer state cannot be kept in the target format. Mirrors UnsupportedForMessageFormatException."""

    error_code = ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT


class UnsupportedCompressionType(RecordBatchError):
    """A codec that the target format does not have. Mirrors UnsupportedCompressionTypeException."""

    error_code = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


class ConversionFailedWhileSending(RecordBatchError):
    """A later batch of a Fetch response cannot be converted. Earlier ones are sent, so the connection is closed."""


class UnwritableRecord(RecordBatchError):
    """A record that the target format cannot hold. Kafka has no error code of its own for it: -1."""


class MalformedVarint(RecordBatchError):
    """A variable-length integer exceeds the buffer or its width. Mirrors the IllegalArgumentException of ByteUtils.

    Inside of a record it becomes InvalidRecord; as a record's length in uncompressed records it is Kafka's -1.
    """

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(position, reason)
        self.position = position
        self.reason = reason

    def __str__(self) -> str:
        return f"varint at byte {self.position}: {self.reason}"


class CompressionError(RecordBatchError):
    """Records cannot be compressed or decompressed; a broker has no code of its own for it and returns -1."""


class UnknownCodec(CompressionError):
    """The codec bits of the attributes name no codec (5, 6 and 7 are unused)."""

    def __init__(self, codec: int) -> None:
        super().__init__(codec)
        self.codec = codec

    def __str__(self) -> str:
        return f"compression codec {self.codec} does not exist; 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd do"


class CorruptCompressedData(CompressionError):
    """Compressed bytes that their codec refuses, or that end too early."""

    def __init__(self, codec: str, reason: str) -> None:
        super().__init__(codec, reason)
        self.codec = codec
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.codec}: {self.reason}"


class DecompressionLimitExceeded(CompressionError):
    """Decompressed bytes exceed the caller's limit: a decompression bomb, or a limit that is too low."""

    def __init__(self, codec: str, limit_bytes: int) -> None:
        super().__init__(codec, limit_bytes)
        self.codec = codec
        self.limit_bytes = limit_bytes

    def __str__(self) -> str:
        return f"{self.codec}: decompressed records pass limit_bytes={self.limit_bytes}"


class CompressionUnavailable(CompressionError):
    """The library for a codec is not installed."""

    def __init__(self, codec: str) -> None:
        super().__init__(codec)
        self.codec = codec

    def __str__(self) -> str:
        return f"{self.codec} needs the package cramjam: pip install cramjam"


def _place(message: str, version: int, path: str) -> str:
    return f"{message} v{version}, {path}" if path else f"{message} v{version}"
