"""Variable-length integers: zigzag ones of records, unsigned ones of flexible messages. Mirrors ByteUtils.

A varint is 32 bits wide (up to 5 bytes), a varlong 64 (up to 10). As in Kafka, longer spellings of a small number are
accepted and the bits that the width cannot hold are dropped. Decoders return the value and the position after it, and
raise MalformedVarint.
"""

from __future__ import annotations

from typing import Final

from protocol_specs.errors import MalformedVarint

MAX_VARINT_BYTES: Final = 5
MAX_VARLONG_BYTES: Final = 10

_MASK_32: Final = 0xFFFF_FFFF
_MASK_64: Final = 0xFFFF_FFFF_FFFF_FFFF
_INT_32: Final = 1 << 31
_INT_64: Final = 1 << 63


SMALL_VARINTS_END: Final = 8192
"""The largest number with an entry in SMALL_VARINTS, which has all varints of one or two bytes."""


def encode_unsigned_varint(value: int) -> bytes:
    """Write a number from 0 to 2**32 - 1."""
    if not 0 <= value <= _MASK_32:
        raise ValueError(f"unsigned varint {value} is outside of 0 to {_MASK_32}")
    return _ONE_BYTE[value] if value < 0x80 else _encode(value)


def encode_varint(value: int) -> bytes:
    """Write an int32 in zigzag."""
    if 0 <= value < SMALL_VARINTS_END:
        return SMALL_VARINTS[value]
    if not -_INT_32 <= value < _INT_32:
        raise ValueError(f"varint {value} is outside of the int32 range")
    return _encode((value << 1) ^ (value >> 31))


def encode_varlong(value: int) -> bytes:
    """Write an int64 in zigzag."""
    if 0 <= value < SMALL_VARINTS_END:
        return SMALL_VARINTS[value]
    if not -_INT_64 <= value < _INT_64:
        raise ValueError(f"varlong {value} is outside of the int64 range")
    return _encode((value << 1) ^ (value >> 63))


def size_of_unsigned_varint(value: int) -> int:
    """Return the size of the result of encode_unsigned_varint."""
    return (value.bit_length() + 6) // 7 or 1


def size_of_varint(value: int) -> int:
    """Return the size of the result of encode_varint or encode_varlong."""
    return size_of_unsigned_varint(value << 1 if value >= 0 else ~(value << 1))


def decode_unsigned_varint(buffer: bytes | memoryview, position: int) -> tuple[int, int]:
    """Read a number of 32 bits without sign."""
    if position < len(buffer) and (byte := buffer[position]) < 0x80:
        return byte, position + 1
    value, end = _decode(buffer, position, MAX_VARINT_BYTES)
    return value & _MASK_32, end


def decode_varint(buffer: bytes | memoryview, position: int) -> tuple[int, int]:
    """Read a zigzag int32."""
    if position < len(buffer) and (byte := buffer[position]) < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    raw, end = _decode(buffer, position, MAX_VARINT_BYTES)
    raw &= _MASK_32
    return (raw >> 1) ^ -(raw & 1), end


def decode_varlong(buffer: bytes | memoryview, position: int) -> tuple[int, int]:
    """Read a zigzag int64."""
    if position < len(buffer) and (byte := buffer[position]) < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    raw, end = _decode(buffer, position, MAX_VARLONG_BYTES)
    raw &= _MASK_64
    return (raw >> 1) ^ -(raw & 1), end


_ONE_BYTE: Final = [bytes((value,)) for value in range(0x80)]

SMALL_VARINTS: Final = [
    *_ONE_BYTE[::2],
    *[bytes((low, high)) for high in range(1, 0x80) for low in range(0x80, 0x100, 2)],
]
"""The results of encode_varint for the numbers from 0; the hottest call of a producer indexes it."""


def _encode(raw: int) -> bytes:
    if raw < 0x80:
        return _ONE_BYTE[raw]
    if raw < 0x4000:
        return bytes((raw & 0x7F | 0x80, raw >> 7))
    encoded = bytearray()
    while raw > 0x7F:
        encoded.append(raw & 0x7F | 0x80)
        raw >>= 7
    encoded.append(raw)
    return bytes(encoded)


def _decode(buffer: bytes | memoryview, position: int, limit_bytes: int) -> tuple[int, int]:
    value = shift = 0
    end = min(len(buffer), position + limit_bytes)
    for index in range(position, end):
        byte = buffer[index]
        if byte < 0x80:
            return value | byte << shift, index + 1
        value |= (byte & 0x7F) << shift
        shift += 7
    if end - position == limit_bytes:
        raise MalformedVarint(position, f"does not end after {limit_bytes} bytes")
    raise MalformedVarint(position, f"the buffer ends after {max(end - position, 0)} bytes of it")
