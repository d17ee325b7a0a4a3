"""Snappy as Kafka's Java clients write it: xerial's stream of blocks. Mirrors org.xerial.snappy.SnappyInputStream.

16 bytes of header (magic, version, compatible version), then blocks: int32 size and a raw snappy block of up to 32 KiB
of data. Streams may be concatenated. Bytes without the magic are one raw block, as librdkafka may send.
"""

from __future__ import annotations

import struct
from typing import Final

import cramjam

from protocol_specs.errors import CorruptCompressedData, DecompressionLimitExceeded

BLOCK_BYTES: Final = 32 * 1024

_HEADER: Final = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
_MAGIC: Final = _HEADER[:8]
_MAGIC_AS_SIZE: Final = int.from_bytes(_MAGIC[:4], "big")
# A copy element of 3 bytes makes at most 64; a preamble above this ratio is invalid.
_MAX_RATIO: Final = 22

_int32 = struct.Struct(">i")
_version = struct.Struct(">8xi")


def compress_xerial(data: bytes | memoryview) -> bytes:
    """Write a stream with a block for every 32 KiB."""
    view = memoryview(data)
    parts: list[bytes] = [_HEADER]
    for start in range(0, len(view), BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + BLOCK_BYTES]))
        parts.append(_int32.pack(len(block)))
        parts.append(block)
    return b"".join(parts)


def decompress_snappy(data: bytes | memoryview, limit_bytes: int) -> bytes:
    """Read a xerial stream or one raw block; raises CorruptCompressedData, DecompressionLimitExceeded."""
    view = memoryview(data)
    if view[:8] != _MAGIC:
        return _decompress_block(view, limit_bytes, limit_bytes)
    parts: list[bytes] = []
    remaining = limit_bytes
    # As SnappyInputStream does, ignore the first header's versions; of a later one, four bytes and the version count.
    if len(view) < len(_HEADER):
        raise CorruptCompressedData("snappy", "stream header is cut off")
    position = len(_HEADER)
    # Fewer than four bytes at the end are ignored, as SnappyInputStream does.
    while len(view) - position >= 4:
        size = int.from_bytes(view[position : position + 4], "big")
        if size == _MAGIC_AS_SIZE:
            position = _after_later_header(view, position)
            continue
        position += 4
        if size > len(view) - position:
            raise CorruptCompressedData("snappy", f"block of {size} bytes, {len(view) - position} bytes left")
        part = _decompress_block(view[position : position + size], remaining, limit_bytes)
        remaining -= len(part)
        position += size
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _after_later_header(view: memoryview, position: int) -> int:
    if len(view) - position < len(_HEADER):
        raise CorruptCompressedData("snappy", "stream header is cut off")
    (version,) = _version.unpack_from(view, position)
    if version < 1:
        raise CorruptCompressedData("snappy", f"stream version {version}, 1 or more is known")
    return position + len(_HEADER)


def _decompress_block(block: memoryview, remaining: int, limit_bytes: int) -> bytes:
    try:
        promised = int(cramjam.snappy.decompress_raw_len(block))
        if promised > remaining:
            raise DecompressionLimitExceeded("snappy", limit_bytes)
        if promised > _MAX_RATIO * len(block):
            raise CorruptCompressedData("snappy", f"{len(block)} bytes promise {promised}")
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise CorruptCompressedData("snappy", str(error)) from None
