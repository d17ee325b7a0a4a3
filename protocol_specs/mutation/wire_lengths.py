"""How lengths and counts are written before what they speak of. Mirrors Writable and ByteUtils."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from protocol_specs.codec.runtime import uvarint, uvarint_bytes
from protocol_specs.records.varints import decode_varint, decode_varlong, encode_varint, encode_varlong

if TYPE_CHECKING:
    from collections.abc import Callable


class LengthForm:
    """One way to write a number: `write` answers its bytes, `read` the number and the position after it."""

    __slots__ = ("name", "read", "write")

    def __init__(self, name: str, read: Callable[[bytes, int], tuple[int, int]], write: Callable[[int], bytes]) -> None:
        self.name = name
        self.read = read
        self.write = write


def _fixed(name: str, code: str) -> LengthForm:
    packer = struct.Struct(f">{code}")
    low, high = -(1 << 8 * packer.size - 1), (1 << 8 * packer.size - 1) - 1

    def read(data: bytes, position: int) -> tuple[int, int]:
        return int(packer.unpack_from(data, position)[0]), position + packer.size

    def write(number: int) -> bytes:
        if not low <= number <= high:
            raise ValueError(f"its range is {low} to {high}")
        return packer.pack(number)

    return LengthForm(name, read, write)


def _read_compact(data: bytes, position: int) -> tuple[int, int]:
    number, position = uvarint(data, position)
    return number - 1, position


def _write_compact(number: int) -> bytes:
    return _write_uvarint(number + 1)


def _write_uvarint(number: int) -> bytes:
    if not 0 <= number < 1 << 32:
        raise ValueError("its range is 32 bits without sign")
    return uvarint_bytes(number)


INT16: Final = _fixed("int16", "h")
INT32: Final = _fixed("int32", "i")
COMPACT: Final = LengthForm("compact length", _read_compact, _write_compact)
"""A varint of length + 1: 0 is null."""
UVARINT: Final = LengthForm("uvarint", uvarint, _write_uvarint)
VARINT: Final = LengthForm("varint", decode_varint, encode_varint)
"""Zigzag, as in records."""
VARLONG: Final = LengthForm("varlong", decode_varlong, encode_varlong)
"""Zigzag in 64 bits, as a record's timestamp."""
