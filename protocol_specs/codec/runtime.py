"""The few functions and tables that generated code calls. Mirrors Kafka's Readable."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol_specs.message import Buffer


class CodecFault(Exception):
    """Bytes or a value that do not fit; a second, slower walk finds the field."""


FAULTS: Final = (CodecFault, struct.error, IndexError, AttributeError, TypeError, ValueError, OverflowError)
"""The exceptions of generated code: struct.error and IndexError for short bytes, the others for wrong types."""

INT32_MAX: Final = 0x7FFFFFFF

UVARINT: Final[tuple[bytes, ...]] = tuple(
    bytes([n]) if n < 0x80 else bytes([n & 0x7F | 0x80, n >> 7]) for n in range(0x4000)
)
"""The encodings of the small unsigned varints, which are nearly all that occur."""


def uvarint_tail(data: Buffer, position: int, first: int) -> tuple[int, int]:
    """Finish a varint whose first byte had its high bit set: (value, position after it). At most 5 bytes.

    Kafka stores it in an int32, so that a value above 2**31 is negative: null where it is a length.
    """
    value = first & 0x7F
    shift = 7
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= 0xFFFFFFFF
            return (value if value <= 0x80000000 else value - 0x100000000), position
        shift += 7
        if shift > 28:
            raise CodecFault("varint is too long")


def length_tail(data: Buffer, position: int, first: int) -> tuple[int, int]:
    """Finish a compact length, which is a varint of length + 1: 0 is null, and so is every negative number."""
    value, position = uvarint_tail(data, position, first)
    return max(0, value), position


def compact_stretch(data: Buffer, position: int, first: int) -> tuple[int, int]:
    """Start and stop of the bytes after a compact length, whose first byte is before `position`; null stops early."""
    length, position = length_tail(data, position, first) if first >= 0x80 else (first, position)
    return position, position + length - 1


def unknown_tag(
    data: Buffer,
    position: int,
    tag: int,
    size: int,
    of_other_versions: tuple[int, ...],
    unknown: list[tuple[int, bytes]],
) -> int:
    """Append an undeclared tagged field to `unknown`; return the position after it."""
    if tag in of_other_versions:
        raise CodecFault("tag of another version")
    stop = position + size
    if size < 0 or stop > len(data):
        raise CodecFault("short")
    unknown.append((tag & 0xFFFFFFFF, bytes(data[position:stop])))
    return stop


def unknown_tags(
    data: Buffer, position: int, of_other_versions: tuple[int, ...]
) -> tuple[list[tuple[int, bytes]], int]:
    """Read the tag section of a struct without declared tags: the tags, and the position after them."""
    count, position = uvarint(data, position)
    unknown: list[tuple[int, bytes]] = []
    # 2**31 is a length of 2**31 - 1 after Java took one off, but no count: negative, so that no tag is read.
    for _ in range(count if count <= INT32_MAX else 0):
        tag, position = uvarint(data, position)
        size, position = uvarint(data, position)
        position = unknown_tag(data, position, tag, size, of_other_versions, unknown)
    return unknown, position


def uvarint(data: Buffer, position: int) -> tuple[int, int]:
    """Read a varint: (value, position after it)."""
    first = data[position]
    return (first, position + 1) if first < 0x80 else uvarint_tail(data, position + 1, first)


def uvarint_bytes(value: int) -> bytes:
    """The encoding of an unsigned varint of at most 32 bits; a negative number takes 5 bytes."""
    if 0 <= value < 0x4000:
        return UVARINT[value]
    value &= 0xFFFFFFFF
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


_ONE_TAG: Final = b"\1"


def write_tags(write: Any, known: list[tuple[int, list[Any]]], unknown: Sequence[tuple[int, bytes]]) -> None:
    """Write a tag section: known and unknown tagged fields together, by ascending tag (KIP-482)."""
    if len(known) == 1 and not unknown:
        [(tag, parts)] = known
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        write(_ONE_TAG + uvarint_bytes(tag) + uvarint_bytes(len(data)))
        write(data)
        return
    tagged = [(tag, b"".join(parts)) for tag, parts in known]
    tagged.extend((tag, bytes(data)) for tag, data in unknown)
    tagged.sort(key=_tag_of)
    write(uvarint_bytes(len(tagged)))
    previous = -1
    for tag, data in tagged:
        if tag <= previous:
            raise CodecFault(f"tag {tag} twice")
        previous = tag
        write(uvarint_bytes(tag))
        write(uvarint_bytes(len(data)))
        write(data)


def _tag_of(tagged: tuple[int, bytes]) -> int:
    return tagged[0]
