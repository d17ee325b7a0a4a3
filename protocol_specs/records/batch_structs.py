"""construct.Structs of record batches (magic 2) and of messages (magic 0 and 1): the readable reference of records.

Mirrors DefaultRecordBatch, DefaultRecord and LegacyRecord. They share nothing with the builders and readers but the
names of the fields. Nothing is computed, so that lengths and checksums can be wrong. Parsing returns construct's
Containers, building takes the same.
"""

from __future__ import annotations

from typing import Any, Final

import construct

from protocol_specs.codec.struct_builder import Sized, bytes_left

_COMPRESSION_CODEC_MASK: Final = 0x07
_HEADER_BYTES_IN_LENGTH: Final = 49


class Zigzag(construct.Construct):  # type: ignore[misc]
    """A signed number, 7 bits per byte, the low ones first; 0, -1, 1, -2 are 0, 1, 2, 3. As wide as `bits`."""

    def __init__(self, bits: int) -> None:
        super().__init__()
        self.bits = bits

    def _parse(self, stream: Any, context: Any, path: str) -> int:
        raw = 0
        for shift in range(0, self.bits + 3, 7):
            byte = int(construct.Byte._parsereport(stream, context, path))  # noqa: SLF001 - how construct nests
            raw |= (byte & 0x7F) << shift
            if byte < 0x80:
                raw &= (1 << self.bits) - 1
                return -(raw + 1) // 2 if raw % 2 else raw // 2
        raise construct.IntegerError(f"varint is wider than {self.bits} bits", path=path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if not -(1 << self.bits - 1) <= obj < 1 << self.bits - 1:
            raise construct.IntegerError(f"{obj} is wider than {self.bits} bits", path=path)
        raw = 2 * obj if obj >= 0 else -2 * obj - 1
        while raw >= 0x80:
            construct.Byte._build(raw & 0x7F | 0x80, stream, context, path)  # noqa: SLF001
            raw >>= 7
        construct.Byte._build(raw, stream, context, path)  # noqa: SLF001
        return obj


class _Repeated(construct.Construct):  # type: ignore[misc]
    """An array whose count is an earlier field or a varint."""

    def __init__(self, element: Any, count_name: str | None = None) -> None:
        super().__init__()
        self.element = element
        self.count_name = count_name

    def _parse(self, stream: Any, context: Any, path: str) -> list[Any]:
        count = context[self.count_name] if self.count_name else VARINT._parsereport(stream, context, path)  # noqa: SLF001
        left = bytes_left(stream)
        if not 0 <= count <= left:
            raise construct.CheckError(f"{count} elements, {left} bytes left", path=path)
        return [self.element._parsereport(stream, context, f"{path}[{i}]") for i in range(count)]  # noqa: SLF001

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if self.count_name is None:
            VARINT._build(len(obj), stream, context, path)  # noqa: SLF001
        for index, item in enumerate(obj):
            self.element._build(item, stream, context, f"{path}[{index}]")  # noqa: SLF001
        return obj


def _int32_bytes() -> Any:
    return Sized(construct.Int32sb, flexible=False, nullable=True, text=False)


def _varint_bytes(*, nullable: bool = True, text: bool = False) -> Any:
    return Sized(VARINT, flexible=False, nullable=nullable, text=text)


VARINT: Final = Zigzag(32)
VARLONG: Final = Zigzag(64)

RECORD: Final = construct.Struct(
    "length" / VARINT,
    "attributes" / construct.Int8sb,
    "timestamp_delta" / VARLONG,
    "offset_delta" / VARINT,
    "key" / _varint_bytes(),
    "value" / _varint_bytes(),
    "headers"
    / _Repeated(construct.Struct("key" / _varint_bytes(nullable=False, text=True), "value" / _varint_bytes())),
)
"""One record of a batch; its length counts the bytes after it."""

RECORD_BATCH: Final = construct.Struct(
    "base_offset" / construct.Int64sb,
    "batch_length" / construct.Int32sb,
    "partition_leader_epoch" / construct.Int32sb,
    "magic" / construct.OneOf(construct.Int8sb, [2]),
    "crc" / construct.Int32ub,
    "attributes" / construct.Int16sb,
    "last_offset_delta" / construct.Int32sb,
    "base_timestamp" / construct.Int64sb,
    "max_timestamp" / construct.Int64sb,
    "producer_id" / construct.Int64sb,
    "producer_epoch" / construct.Int16sb,
    "base_sequence" / construct.Int32sb,
    "records_count" / construct.Int32sb,
    "records"
    / construct.IfThenElse(
        lambda this: this.attributes & _COMPRESSION_CODEC_MASK,
        construct.Bytes(lambda this: this.batch_length - _HEADER_BYTES_IN_LENGTH),
        _Repeated(RECORD, "records_count"),
    ),
)
"""A batch: its length counts the bytes after it, its crc covers those after itself. Compressed records are bytes."""

MESSAGE: Final = construct.Struct(
    "offset" / construct.Int64sb,
    "message_size" / construct.Int32sb,
    "crc" / construct.Int32ub,
    "magic" / construct.OneOf(construct.Int8sb, [0, 1]),
    "attributes" / construct.Int8sb,
    "timestamp" / construct.If(lambda this: this.magic == 1, construct.Int64sb),
    "key" / _int32_bytes(),
    "value" / _int32_bytes(),
)
"""A message of magic 0, or of magic 1, which has a timestamp; its crc covers the bytes after it."""
