"""Compression of record batches under the names of `compression.type`. Mirrors org.apache.kafka.common.compress.

Decompression is bounded by the caller's `limit_bytes`: memory in use stays near that limit (plus one LZ4 block, or one
zstd window), for any input. gzip needs nothing but zlib; the others need the package cramjam.
"""

from __future__ import annotations

import zlib
from enum import IntEnum
from typing import Final

from protocol_specs.errors import (
    CompressionUnavailable,
    CorruptCompressedData,
    DecompressionLimitExceeded,
    UnknownCodec,
)

MAX_GZIP_MEMBERS: Final = 1024
DEFAULT_ZSTD_LEVEL: Final = 3

_GZIP_WBITS: Final = 31
_GZIP_MAGIC: Final = b"\x1f\x8b\x08"
_GZIP_FLAGS_AT: Final = 3
_GZIP_RESERVED_FLAGS: Final = 0xE0
_ZSTD_FIRST_RATIO: Final = 8
_ZSTD_FIRST_BYTES: Final = 64 * 1024
_ZSTD_GROWTH: Final = 4
# What cramjam reports when the output buffer is too small; its errors differ by their text alone.
_ZSTD_BUFFER_FULL: Final = "failed to write whole buffer"


class CompressionCodec(IntEnum):
    """The codec bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @property
    def type_name(self) -> str:
        """The name that `compression.type` uses."""
        return self.name.lower()

    @classmethod
    def for_id(cls, codec: int) -> CompressionCodec:
        """Return the codec of attribute bits; raises UnknownCodec."""
        if 0 <= codec < len(_CODECS):
            return _CODECS[codec]
        raise UnknownCodec(codec)

    @classmethod
    def for_name(cls, name: str) -> CompressionCodec:
        """Return the codec of a `compression.type`. Raises ValueError with the valid names."""
        for codec in _CODECS:
            if codec.type_name == name:
                return codec
        names = ", ".join(codec.type_name for codec in _CODECS)
        raise ValueError(f"compression.type {name!r} does not exist; choose one of {names}")


_CODECS: Final = list(CompressionCodec)


def compress(codec: CompressionCodec, data: bytes | memoryview, level: int | None = None, *, magic: int = 2) -> bytes:
    """Compress as Kafka's producer does; without `level` each codec's default is used (snappy has none).

    `magic` is the message format that the bytes are for: LZ4 in magic 0 has its own header checksum (KIP-57).
    """
    if codec == CompressionCodec.NONE:
        return bytes(data)
    if codec == CompressionCodec.GZIP:
        compressor = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, _GZIP_WBITS)
        return compressor.compress(data) + compressor.flush()
    try:
        if codec == CompressionCodec.SNAPPY:
            from protocol_specs.records.xerial_snappy import compress_xerial

            return compress_xerial(data)
        if codec == CompressionCodec.LZ4:
            from protocol_specs.records.lz4_frame import compress_frame

            return compress_frame(data, level, checksum_from_magic=magic == 0)
        import cramjam
    except ImportError:
        raise CompressionUnavailable(codec.type_name) from None
    return bytes(cramjam.zstd.compress(data, level=DEFAULT_ZSTD_LEVEL if level is None else level))


def decompress(codec: CompressionCodec, data: bytes | memoryview, *, limit_bytes: int, magic: int = 2) -> bytes:
    """Decompress bytes that Kafka accepts for the codec in message format `magic`, to at most `limit_bytes`.

    Raises CorruptCompressedData, DecompressionLimitExceeded, CompressionUnavailable.
    """
    if codec == CompressionCodec.NONE:
        if len(data) > limit_bytes:
            raise DecompressionLimitExceeded(codec.type_name, limit_bytes)
        return bytes(data)
    if codec == CompressionCodec.GZIP:
        return _gunzip(data, limit_bytes)
    try:
        if codec == CompressionCodec.SNAPPY:
            from protocol_specs.records.xerial_snappy import decompress_snappy

            return decompress_snappy(data, limit_bytes)
        if codec == CompressionCodec.LZ4:
            from protocol_specs.records.lz4_frame import decompress_frame

            return decompress_frame(data, limit_bytes, any_header_checksum=magic == 0)
        return _unzstd(data, limit_bytes)
    except ImportError:
        raise CompressionUnavailable(codec.type_name) from None


def _gunzip(data: bytes | memoryview, limit_bytes: int) -> bytes:
    parts: list[bytes] = []
    remaining = limit_bytes
    for _ in range(MAX_GZIP_MEMBERS):
        if len(data) > _GZIP_FLAGS_AT and data[_GZIP_FLAGS_AT] & _GZIP_RESERVED_FLAGS:
            # GZIPInputStream ignores them, zlib does not.
            known = data[_GZIP_FLAGS_AT] & ~_GZIP_RESERVED_FLAGS
            data = b"".join((data[:_GZIP_FLAGS_AT], bytes((known,)), data[_GZIP_FLAGS_AT + 1 :]))
        member = zlib.decompressobj(_GZIP_WBITS)
        try:
            part = member.decompress(data, remaining + 1)
        except zlib.error as error:
            raise CorruptCompressedData("gzip", str(error)) from None
        remaining -= len(part)
        if remaining < 0:
            raise DecompressionLimitExceeded("gzip", limit_bytes)
        if not member.eof:
            raise CorruptCompressedData("gzip", "stream is cut off")
        parts.append(part)
        data = member.unused_data
        # Trailing bytes that are no member are ignored, as GZIPInputStream does.
        if not data.startswith(_GZIP_MAGIC):
            return parts[0] if len(parts) == 1 else b"".join(parts)
    raise CorruptCompressedData("gzip", f"more than MAX_GZIP_MEMBERS={MAX_GZIP_MEMBERS} members")


def _unzstd(data: bytes | memoryview, limit_bytes: int) -> bytes:
    import cramjam

    if not data:
        return b""  # ZstdInputStream takes the end of the input for the end of the frames
    size = min(limit_bytes, max(_ZSTD_FIRST_BYTES, _ZSTD_FIRST_RATIO * len(data)))
    while True:
        scratch = bytearray(size)
        try:
            written = int(cramjam.zstd.decompress_into(data, scratch))
        except cramjam.DecompressionError as error:
            if str(error) != _ZSTD_BUFFER_FULL:
                raise CorruptCompressedData("zstd", str(error)) from None
        else:
            return bytes(memoryview(scratch)[:written])
        if size >= limit_bytes:
            raise DecompressionLimitExceeded("zstd", limit_bytes)
        size = min(limit_bytes, size * _ZSTD_GROWTH)
