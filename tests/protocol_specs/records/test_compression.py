from __future__ import annotations

import contextlib
import gzip
import random
import struct
import tracemalloc
from typing import TYPE_CHECKING

import aiokafka.codec
import lz4.frame
import pytest
import snappy
import zstandard
from hypothesis import assume, given
from hypothesis import strategies as st
from kafka.codec import snappy_decode, snappy_encode

from protocol_specs.errors import (
    CompressionError,
    CompressionUnavailable,
    CorruptCompressedData,
    DecompressionLimitExceeded,
    UnknownCodec,
)
from protocol_specs.fuzzing.strategies import codecs
from protocol_specs.records import lz4_frame, xerial_snappy
from protocol_specs.records.compression import MAX_GZIP_MEMBERS, CompressionCodec, compress, decompress

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = 10_000_000
XERIAL_HEADER = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
COMPRESSED = [CompressionCodec.GZIP, CompressionCodec.SNAPPY, CompressionCodec.LZ4, CompressionCodec.ZSTD]


def theirs(codec: CompressionCodec, data: bytes) -> bytes:
    match codec:
        case CompressionCodec.GZIP:
            return gzip.decompress(data)
        case CompressionCodec.SNAPPY:
            return bytes(snappy_decode(data))
        case CompressionCodec.LZ4:
            return bytes(lz4.frame.decompress(data))
        case _:
            return zstandard.ZstdDecompressor().decompress(data, max_output_size=LIMIT)


# Bytes of other writers: each has its own block sizes, checksums and framing.
WRITERS: list[tuple[CompressionCodec, Callable[[bytes], bytes]]] = [
    (CompressionCodec.GZIP, gzip.compress),
    (CompressionCodec.GZIP, lambda data: gzip.compress(data[:10]) + gzip.compress(data[10:])),
    (CompressionCodec.SNAPPY, lambda data: bytes(snappy_encode(data))),
    (CompressionCodec.SNAPPY, lambda data: bytes(snappy_encode(data, xerial_blocksize=1000))),
    (CompressionCodec.SNAPPY, lambda data: bytes(snappy.compress(data))),
    (CompressionCodec.LZ4, lambda data: lz4.frame.compress(data, block_linked=False)),
    (CompressionCodec.LZ4, lambda data: lz4.frame.compress(data, block_linked=False, store_size=False)),
    (CompressionCodec.LZ4, lambda data: lz4.frame.compress(data, block_linked=False, block_checksum=True)),
    (CompressionCodec.LZ4, lambda data: lz4.frame.compress(data, block_linked=False, content_checksum=True)),
    (CompressionCodec.LZ4, lambda data: lz4.frame.compress(data, block_linked=False, block_size=7)),
    (CompressionCodec.LZ4, aiokafka.codec.lz4_encode),
    (CompressionCodec.ZSTD, zstandard.ZstdCompressor().compress),
    (CompressionCodec.ZSTD, zstandard.ZstdCompressor(write_checksum=True, write_content_size=False).compress),
    (CompressionCodec.ZSTD, lambda data: zstandard.compress(data[:10]) + zstandard.compress(data[10:])),
]

DATA = st.one_of(
    st.binary(max_size=300),
    st.builds(lambda part, times: part * times, st.binary(min_size=1, max_size=50), st.integers(1, 5000)),
)


@given(codecs(), DATA)
def test_what_is_compressed_comes_back(codec: CompressionCodec, data: bytes) -> None:
    packed = compress(codec, data)
    assert decompress(codec, packed, limit_bytes=len(data)) == data
    assert decompress(codec, memoryview(packed), limit_bytes=LIMIT) == data


@given(st.sampled_from(COMPRESSED), DATA)
def test_independent_libraries_read_what_is_written(codec: CompressionCodec, data: bytes) -> None:
    assume(data)  # kafka-python takes a stream without blocks for a raw one
    assert theirs(codec, compress(codec, memoryview(data))) == data


@given(st.sampled_from(WRITERS), DATA)
def test_what_independent_libraries_write_is_read(
    writer: tuple[CompressionCodec, Callable[[bytes], bytes]], data: bytes
) -> None:
    codec, write = writer
    assert decompress(codec, write(data), limit_bytes=LIMIT) == data


@pytest.mark.parametrize(
    ("codec", "level"),
    [(CompressionCodec.GZIP, 1), (CompressionCodec.GZIP, 9), (CompressionCodec.LZ4, 9), (CompressionCodec.ZSTD, 19)],
)
def test_levels_change_the_size_but_not_the_content(codec: CompressionCodec, level: int) -> None:
    chance = random.Random(1)
    data = b"".join(b'{"order":%d,"user":"u%d"}' % (n, chance.randrange(1000)) for n in range(3000))
    packed = compress(codec, data, level)
    assert len(packed) != len(compress(codec, data))
    assert theirs(codec, packed) == data
    assert decompress(codec, packed, limit_bytes=LIMIT) == data


@pytest.mark.parametrize("codec", COMPRESSED)
def test_incompressible_data_of_many_blocks_comes_back(codec: CompressionCodec) -> None:
    data = random.Random(2).randbytes(300_000)
    packed = compress(codec, data)
    assert theirs(codec, packed) == data
    assert decompress(codec, packed, limit_bytes=len(data)) == data


@pytest.mark.parametrize("codec", COMPRESSED)
def test_the_limit_is_exact(codec: CompressionCodec) -> None:
    packed = compress(codec, bytes(100_000))
    assert len(decompress(codec, packed, limit_bytes=100_000)) == 100_000
    with pytest.raises(DecompressionLimitExceeded, match="limit_bytes=99999"):
        decompress(codec, packed, limit_bytes=99_999)


def test_records_without_codec_keep_the_limit_too() -> None:
    assert decompress(CompressionCodec.NONE, b"abc", limit_bytes=3) == b"abc"
    with pytest.raises(DecompressionLimitExceeded):
        decompress(CompressionCodec.NONE, b"abcd", limit_bytes=3)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_bomb_does_not_take_memory_beyond_the_limit(codec: CompressionCodec) -> None:
    bomb = compress(codec, bytes(50_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(DecompressionLimitExceeded):
            decompress(codec, bomb, limit_bytes=200_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A snappy stream and an lz4 frame carry their own bytes; scratch space and doubling buffers are the rest.
    assert peak < 2_000_000 + len(bomb)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_truncated_data_is_refused(codec: CompressionCodec) -> None:
    packed = compress(codec, b"some words, some more words, " * 50)
    for cut in range(len(packed)):
        if codec is CompressionCodec.SNAPPY and len(XERIAL_HEADER) <= cut < len(XERIAL_HEADER) + 4:
            continue  # an incomplete block size is the end of the stream to SnappyInputStream
        if codec is CompressionCodec.ZSTD and cut == 0:
            continue  # no byte at all is the end of the stream to ZstdInputStream
        with pytest.raises(CorruptCompressedData):
            decompress(codec, packed[:cut], limit_bytes=LIMIT)


def test_no_bytes_are_the_end_of_a_zstd_stream() -> None:
    assert decompress(CompressionCodec.ZSTD, b"", limit_bytes=LIMIT) == b""


@given(st.sampled_from(COMPRESSED), st.data())
def test_changed_bytes_raise_compression_errors_only(codec: CompressionCodec, data: st.DataObject) -> None:
    packed = bytearray(compress(codec, b"some words, " * 30))
    for _ in range(data.draw(st.integers(1, 5))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(CompressionError):
        decompress(codec, bytes(packed), limit_bytes=100_000)


@given(st.sampled_from(COMPRESSED), st.binary(max_size=200))
def test_garbage_raises_compression_errors_only(codec: CompressionCodec, garbage: bytes) -> None:
    prefixes = {
        CompressionCodec.GZIP: b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03",
        CompressionCodec.SNAPPY: XERIAL_HEADER,
        CompressionCodec.LZ4: b"\x04\x22\x4d\x18\x60\x40\x82",
        CompressionCodec.ZSTD: b"\x28\xb5\x2f\xfd",
    }
    for data in (garbage, prefixes[codec] + garbage):
        with contextlib.suppress(CompressionError):
            decompress(codec, data, limit_bytes=100_000)


def test_gzip_ignores_what_follows_the_last_member() -> None:
    assert decompress(CompressionCodec.GZIP, gzip.compress(b"abc") + b"rest", limit_bytes=LIMIT) == b"abc"


def test_gzip_members_are_limited() -> None:
    member = gzip.compress(b"")
    assert decompress(CompressionCodec.GZIP, member * MAX_GZIP_MEMBERS, limit_bytes=LIMIT) == b""
    with pytest.raises(CorruptCompressedData, match="MAX_GZIP_MEMBERS=1024"):
        decompress(CompressionCodec.GZIP, member * (MAX_GZIP_MEMBERS + 1), limit_bytes=LIMIT)


def test_xerial_streams_may_follow_one_another() -> None:
    stream = xerial_snappy.compress_xerial(b"one") + xerial_snappy.compress_xerial(b"two")
    assert decompress(CompressionCodec.SNAPPY, stream, limit_bytes=LIMIT) == b"onetwo"


def test_versions_count_in_later_xerial_headers_only() -> None:
    stream = bytearray(xerial_snappy.compress_xerial(b"data"))
    stream[8:16] = bytes(8)
    assert decompress(CompressionCodec.SNAPPY, bytes(stream), limit_bytes=LIMIT) == b"data"
    with pytest.raises(CorruptCompressedData):
        decompress(CompressionCodec.SNAPPY, bytes(stream * 2), limit_bytes=LIMIT)
    stream[11] = 9
    assert decompress(CompressionCodec.SNAPPY, bytes(stream * 2), limit_bytes=LIMIT) == b"datadata"


def test_xerial_blocks_hold_32_kib() -> None:
    stream = xerial_snappy.compress_xerial(bytes(70_000))
    sizes = []
    position = len(XERIAL_HEADER)
    while position < len(stream):
        (size,) = struct.unpack_from(">i", stream, position)
        sizes.append(len(snappy.decompress(stream[position + 4 : position + 4 + size])))
        position += 4 + size
    assert stream.startswith(XERIAL_HEADER)
    assert sizes == [32_768, 32_768, 4_464]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (XERIAL_HEADER + b"\x82SNAPPY\x00" + struct.pack(">ii", 0, 1), "stream version 0"),
        (XERIAL_HEADER + XERIAL_HEADER[:15], "header is cut off"),
        (XERIAL_HEADER + struct.pack(">I", 100) + b"ab", "block of 100 bytes, 2 bytes left"),
        (XERIAL_HEADER + struct.pack(">I", 0xFFFFFFFF), "block of 4294967295 bytes"),
        (XERIAL_HEADER[:12], "header is cut off"),
        (b"\xff\xff\xff\x01\x00", "5 bytes promise 4194303"),
        (b"", "empty"),
    ],
)
def test_snappy_streams_that_lie_are_refused(data: bytes, words: str) -> None:
    with pytest.raises(CorruptCompressedData, match=words):
        decompress(CompressionCodec.SNAPPY, data, limit_bytes=LIMIT)


def test_lz4_frames_are_written_in_kafkas_subset() -> None:
    frame = compress(CompressionCodec.LZ4, b"abc" * 50_000)
    info = lz4.frame.get_frame_info(frame)
    assert not info["block_linked"]
    assert info["block_size"] == 64 * 1024
    assert not info["content_checksum"]
    assert not info["block_checksum"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (lz4.frame.compress(bytes(100_000), block_linked=True), "linked blocks"),
        (b"\x04\x22\x4d\x18\x60\x40\x83", "header checksum"),
        (b"\x04\x22\x4d\x18\x60\x30\x82", "block descriptor 0x30"),
        (b"\x04\x22\x4d\x18\x61\x40\x82", "flags 0x61"),
        (b"\x04\x22\x4d\x18\x20\x40\x82", "flags 0x20"),
        (b"\x04\x22\x4d\x18\x68\x40\x82", "cut off"),
        (b"\x04\x22\x4d\x18\x60\x40", "cut off"),
        (b"\x04\x22\x4d\x19\x60\x40\x82", "no frame magic"),
        (b"\x04\x22\x4d\x18\x60\x40\x82" + struct.pack("<I", 70_000) + bytes(70_000), "block of 70000"),
        (b"\x04\x22\x4d\x18\x60\x40\x82" + struct.pack("<I", 0x80000000 | 5) + b"abcde", "without an end mark"),
        (b"\x04\x22\x4d\x18\x60\x40\x82" + struct.pack("<I", 5) + b"abc", "block of 5 bytes, 3 bytes left"),
    ],
)
def test_lz4_frames_outside_of_kafkas_subset_are_refused(data: bytes, words: str) -> None:
    with pytest.raises(CorruptCompressedData, match=words):
        decompress(CompressionCodec.LZ4, data, limit_bytes=LIMIT)


def test_lz4_block_checksums_are_verified() -> None:
    frame = bytearray(lz4.frame.compress(b"words " * 100, block_linked=False, block_checksum=True))
    frame[-5] ^= 1
    with pytest.raises(CorruptCompressedData, match="block checksum"):
        decompress(CompressionCodec.LZ4, bytes(frame), limit_bytes=LIMIT)


def test_lz4_content_checksums_are_not_verified_because_kafka_does_not() -> None:
    for block_checksum in (False, True):
        frame = bytearray(
            lz4.frame.compress(b"words", block_linked=False, block_checksum=block_checksum, content_checksum=True)
        )
        frame[-1] ^= 1
        assert decompress(CompressionCodec.LZ4, bytes(frame), limit_bytes=LIMIT) == b"words"


def test_lz4_bytes_after_the_end_mark_are_ignored() -> None:
    assert decompress(CompressionCodec.LZ4, compress(CompressionCodec.LZ4, b"abc") + b"rest", limit_bytes=9) == b"abc"


def test_xxhash32_gives_the_published_values() -> None:
    assert lz4_frame.xxhash32(b"") == 0x02CC5D05
    assert lz4_frame.xxhash32(b"a") == 0x550D7456
    assert lz4_frame.xxhash32(b"abc") == 0x32D153FF
    assert lz4_frame.xxhash32(b"Nobody inspects the spammish repetition") == 0xE2293B2F


def test_codecs_have_the_names_and_numbers_of_kafka() -> None:
    assert [codec.type_name for codec in CompressionCodec] == ["none", "gzip", "snappy", "lz4", "zstd"]
    assert [CompressionCodec.for_id(number) for number in range(5)] == list(CompressionCodec)
    assert CompressionCodec.for_name("lz4") is CompressionCodec.LZ4
    with pytest.raises(UnknownCodec):
        CompressionCodec.for_id(5)
    with pytest.raises(UnknownCodec):
        CompressionCodec.for_id(-1)
    with pytest.raises(ValueError, match="'LZ4' does not exist; choose one of none, gzip"):
        CompressionCodec.for_name("LZ4")


@pytest.mark.parametrize("codec", COMPRESSED[1:])
def test_a_missing_library_is_named(codec: CompressionCodec, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in ("protocol_specs.records.lz4_frame", "protocol_specs.records.xerial_snappy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "cramjam", None)
    with pytest.raises(CompressionUnavailable, match="pip install cramjam"):
        compress(codec, b"")
    with pytest.raises(CompressionUnavailable, match=codec.type_name):
        decompress(codec, b"", limit_bytes=1)
    assert decompress(CompressionCodec.GZIP, compress(CompressionCodec.GZIP, b"a"), limit_bytes=1) == b"a"


def test_gzip_flags_that_no_format_knows_are_ignored_as_java_does() -> None:
    data = compress(CompressionCodec.GZIP, b"plain")
    odd = data[:3] + b"\xe0" + data[4:]
    assert decompress(CompressionCodec.GZIP, odd, limit_bytes=5) == b"plain"
    assert decompress(CompressionCodec.GZIP, data + odd, limit_bytes=10) == b"plainplain"
    assert decompress(CompressionCodec.GZIP, memoryview(odd), limit_bytes=5) == b"plain"
