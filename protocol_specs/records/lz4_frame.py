"""LZ4 frames in Kafka's subset of the format: independent blocks. Mirrors Lz4BlockInputStream and Lz4BlockOutputStream.

Kafka refuses frames with linked blocks or a dictionary, does not verify the content checksum, and ignores the
bytes after the end mark. Blocks hold up to 64 KiB when written here; a reader accepts the format's four sizes.

Before KIP-57 the checksum of the frame header included the magic. Message format 0 keeps that: Kafka writes the old
checksum into it, and accepts any.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import cramjam

from protocol_specs.errors import CorruptCompressedData, DecompressionLimitExceeded

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK_BYTES: Final = 64 * 1024
MAX_BLOCK_BYTES: Final = {4: 64 * 1024, 5: 256 * 1024, 6: 1024 * 1024, 7: 4 * 1024 * 1024}
DEFAULT_LEVEL: Final = 9

# Magic, version 1 with independent blocks and no checksums, 64 KiB blocks, checksum of these two descriptor bytes.
_HEADER: Final = b"\x04\x22\x4d\x18\x60\x40\x82"
_HEADER_BEFORE_KIP_57: Final = b"\x04\x22\x4d\x18\x60\x40\x1a"
_MAGIC: Final = _HEADER[:4]
# Each byte of a length adds at most 255 to the output of a sequence.
_MAX_RATIO: Final = 256
_END_MARK: Final = b"\x00\x00\x00\x00"
_STORED: Final = 0x8000_0000
_DICTIONARY_OR_RESERVED: Final = 0x03
_CONTENT_SIZE: Final = 0x08
_BLOCK_CHECKSUM: Final = 0x10
_CONTENT_CHECKSUM: Final = 0x04
_INDEPENDENT: Final = 0x20
_VERSION_1: Final = 0x40

_uint32 = struct.Struct("<I")


def compress_frame(data: bytes | memoryview, level: int | None = None, *, checksum_from_magic: bool = False) -> bytes:
    """Write one frame; `level` is that of lz4's high compression, without it the fast mode is used.

    With `checksum_from_magic` the header's checksum is the one from before KIP-57.
    """
    view = memoryview(data)
    parts: list[bytes | memoryview] = [_HEADER_BEFORE_KIP_57 if checksum_from_magic else _HEADER]
    if level is None:
        for start in range(0, len(view), BLOCK_BYTES):
            plain = view[start : start + BLOCK_BYTES]
            block = bytes(cramjam.lz4.compress_block(plain, store_size=False))
            if len(block) < len(plain):
                parts += (_uint32.pack(len(block)), block)
            else:
                parts += (_uint32.pack(len(plain) | _STORED), plain)
    elif view:
        # Block compression knows no levels, so its blocks are taken out of a frame, which adds checksums to them.
        compressor = cramjam.lz4.Compressor(level=level, content_checksum=False, block_linked=False)
        compressor.compress(bytes(view))
        frame = _Frame(memoryview(bytes(compressor.finish())))
        for stored, block_view in frame.blocks():
            parts += (_uint32.pack(len(block_view) | (_STORED if stored else 0)), block_view)
    parts.append(_END_MARK)
    return b"".join(parts)


def decompress_frame(data: bytes | memoryview, limit_bytes: int, *, any_header_checksum: bool = False) -> bytes:
    """Read one frame; raises CorruptCompressedData, DecompressionLimitExceeded."""
    frame = _Frame(memoryview(data), any_header_checksum=any_header_checksum)
    scratch: bytearray | None = None
    parts: list[bytes] = []
    remaining = limit_bytes
    for stored, block in frame.blocks():
        if stored:
            part = bytes(block)
        else:
            # A small block needs no buffer of the largest size that the frame allows.
            room = min(frame.max_block_bytes, _MAX_RATIO * len(block))
            if scratch is None or len(scratch) < room:
                scratch = bytearray(room)
            part = _decompress_block(block, scratch)
        remaining -= len(part)
        if remaining < 0:
            raise DecompressionLimitExceeded("lz4", limit_bytes)
        parts.append(part)
    if frame.flags & _BLOCK_CHECKSUM:
        frame.verify_block_checksums(limit_bytes - remaining)
    return parts[0] if len(parts) == 1 else b"".join(parts)


class _Frame:
    """A frame with a valid header; its blocks are checked during the walk."""

    __slots__ = ("_blocks_start", "_position", "_view", "flags", "max_block_bytes")

    def __init__(self, view: memoryview, *, any_header_checksum: bool = False) -> None:
        self.flags, self.max_block_bytes, self._blocks_start = _read_header(
            view, any_header_checksum=any_header_checksum
        )
        self._position = self._blocks_start
        self._view = view

    def blocks(self) -> Iterator[tuple[bool, memoryview]]:
        """Walk the blocks up to the end mark: (True if the block is stored uncompressed, its bytes)."""
        view = self._view
        while size := self._read_uint32():
            stored, size = size & _STORED, size & ~_STORED
            left = len(view) - self._position
            if size > self.max_block_bytes or size > left:
                raise CorruptCompressedData("lz4", f"block of {size} bytes, {left} bytes left")
            if not size:
                break
            yield bool(stored), view[self._position : self._position + size]
            self._position += size
            if self.flags & _BLOCK_CHECKSUM:
                self._read_uint32()
        if self.flags & _CONTENT_CHECKSUM:
            self._read_uint32()

    def verify_block_checksums(self, size: int) -> None:
        """Verify the block checksums by decompressing the walked blocks again, as a frame without other checksums."""
        end = self._position - (4 if self.flags & _CONTENT_CHECKSUM else 0)
        descriptor = bytes((_VERSION_1 | _INDEPENDENT | _BLOCK_CHECKSUM, self._view[5]))
        header = _MAGIC + descriptor + bytes((xxhash32(descriptor) >> 8 & 0xFF,))
        frame = b"".join((header, self._view[self._blocks_start : end]))
        try:
            cramjam.lz4.decompress_into(frame, bytearray(size))
        except cramjam.DecompressionError:
            raise CorruptCompressedData("lz4", "block checksum does not match") from None

    def _read_uint32(self) -> int:
        if len(self._view) - self._position < 4:
            raise CorruptCompressedData("lz4", "frame ends without an end mark")
        value: int = _uint32.unpack_from(self._view, self._position)[0]
        self._position += 4
        return value


def _read_header(view: memoryview, *, any_header_checksum: bool) -> tuple[int, int, int]:
    if view[:4] != _MAGIC:
        raise CorruptCompressedData("lz4", "no frame magic")
    if len(view) < 7:
        raise CorruptCompressedData("lz4", "frame header is cut off")
    flags, block_descriptor = view[4], view[5]
    if flags >> 6 != 1 or flags & _DICTIONARY_OR_RESERVED:
        raise CorruptCompressedData("lz4", f"frame flags {flags:#04x} are not supported")
    if not flags & _INDEPENDENT:
        raise CorruptCompressedData("lz4", "frame has linked blocks, which Kafka refuses")
    if block_descriptor & 0x8F or block_descriptor >> 4 not in MAX_BLOCK_BYTES:
        raise CorruptCompressedData("lz4", f"block descriptor {block_descriptor:#04x} is not supported")
    end = 14 if flags & _CONTENT_SIZE else 6
    if len(view) <= end:
        raise CorruptCompressedData("lz4", "frame header is cut off")
    if not any_header_checksum and bytes(view[:7]) != _HEADER and view[end] != xxhash32(view[4:end]) >> 8 & 0xFF:
        raise CorruptCompressedData("lz4", "frame header checksum does not match")
    return flags, MAX_BLOCK_BYTES[block_descriptor >> 4], end + 1


def _decompress_block(block: memoryview, scratch: bytearray) -> bytes:
    try:
        size = int(cramjam.lz4.decompress_block_into(block, scratch, output_len=len(scratch)))
    except cramjam.DecompressionError as error:
        raise CorruptCompressedData("lz4", str(error)) from None
    return bytes(memoryview(scratch)[:size])


_PRIME_1: Final = 0x9E3779B1
_PRIME_2: Final = 0x85EBCA77
_PRIME_3: Final = 0xC2B2AE3D
_PRIME_4: Final = 0x27D4EB2F
_PRIME_5: Final = 0x165667B1
_MASK: Final = 0xFFFF_FFFF


def xxhash32(data: bytes | memoryview) -> int:
    """Return XXH32 with seed 0: the checksum of frame descriptors, which are short."""
    size = len(data)
    position = 0
    if size >= 16:
        lanes = [(_PRIME_1 + _PRIME_2) & _MASK, _PRIME_2, 0, -_PRIME_1 & _MASK]
        for words in struct.iter_unpack("<4I", data[: size & ~15]):
            for lane in range(4):
                mixed = (lanes[lane] + words[lane] * _PRIME_2) & _MASK
                lanes[lane] = _rotate(mixed, 13) * _PRIME_1 & _MASK
        position = size & ~15
        digest = sum(_rotate(lanes[lane], turn) for lane, turn in enumerate((1, 7, 12, 18))) + size
    else:
        digest = _PRIME_5 + size
    for (word,) in struct.iter_unpack("<I", data[position : size & ~3]):
        digest = _rotate(digest + word * _PRIME_3, 17) * _PRIME_4
    for byte in data[size & ~3 :]:
        digest = _rotate(digest + byte * _PRIME_5, 11) * _PRIME_1
    digest &= _MASK
    digest = (digest ^ digest >> 15) * _PRIME_2 & _MASK
    digest = (digest ^ digest >> 13) * _PRIME_3 & _MASK
    return digest ^ digest >> 16


def _rotate(value: int, count: int) -> int:
    value &= _MASK
    return (value << count | value >> (32 - count)) & _MASK
