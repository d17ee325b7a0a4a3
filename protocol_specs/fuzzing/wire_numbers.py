"""How numbers are written before what they count, and in records. Mirrors Writable and ByteUtils."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from protocol_specs.codec.runtime import uvarint_bytes
from protocol_specs.records.varints import encode_unsigned_varint, encode_varint, encode_varlong

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class NumberForm:
    """One way to write a number; `write` raises ValueError, struct.error or ArithmeticError if it does not fit."""

    name: str
    write: Callable[[int], bytes]


def _write_compact(number: int) -> bytes:
    """The varint of length + 1. Kafka keeps it in an int32, so that it can be negative."""
    if not -(1 << 31) <= number < 1 << 31:
        raise ValueError("its range is 32 bits")
    return uvarint_bytes((number + 1) & 0xFFFFFFFF)


INT16: Final = NumberForm("int16", struct.Struct(">h").pack)
INT32: Final = NumberForm("int32", struct.Struct(">i").pack)
UINT32: Final = NumberForm("uint32", struct.Struct(">I").pack)
COMPACT: Final = NumberForm("compact length", _write_compact)
UVARINT: Final = NumberForm("uvarint", encode_unsigned_varint)
VARINT: Final = NumberForm("varint", encode_varint)
"""Zigzag, as in records."""
VARLONG: Final = NumberForm("varlong", encode_varlong)
"""Zigzag in 64 bits, as the timestamp of a record."""
