"""Kafka's own record classes and ours on the same record sets: building, reading, refusing."""

from __future__ import annotations

import zlib
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from protocol_specs.errors import CorruptCompressedData, CorruptRecordBatch, InvalidRecord, RecordBatchError
from protocol_specs.records.batch_builder import seal_batch
from protocol_specs.records.batch_peek import MAGIC_OFFSET, TimestampType, peek_header
from protocol_specs.records.compression import CompressionCodec, compress
from protocol_specs.records.message_set import encode_message
from protocol_specs.records.record_batch import Record, read_records
from protocol_specs.records.retained_batch import retained_batch
from tests.interop.java_record_sets import (
    FORMATS,
    before_compression,
    build,
    build_line,
    describe,
    draw_records,
    run_java,
)
from tests.interop.kafka_release import RELEASES

if TYPE_CHECKING:
    from pathlib import Path


CORRUPT_COMPRESSED_DATA = "corrupt compressed data"


class Case(NamedTuple):
    """A record set as we build it, and the input line of the Java program for the same."""

    data: bytes
    line: str


def every_case() -> list[Case]:
    random = Random(4)
    cases: list[Case] = []
    for magic, codec in FORMATS:
        for timestamp_type in TimestampType:
            for base_offset in (0, 1000):
                records = draw_records(random, magic, base_offset)
                data = build(records, magic, codec, timestamp_type, base_offset)
                cases.append(Case(data, build_line(records, magic, codec, timestamp_type, base_offset)))
        if magic == 2:
            records = draw_records(random, magic, 5)
            create = TimestampType.CREATE_TIME
            data = build(records, magic, codec, create, 5, producer_id=42)
            cases.append(Case(data, build_line(records, magic, codec, create, 5, producer_id=42)))
            cases.append(
                Case(
                    retained_batch(peek_header(data), read_records(data), delete_horizon_ms=1_700_000_009_000),
                    build_line(records, magic, codec, create, 5, 42, 1_700_000_009_000),
                )
            )
    return cases


CASES = every_case()


def broken_sets() -> list[bytes]:
    """Sound sets with one byte changed or the end cut off, most of them with a checksum that fits again."""
    random = Random(44)
    broken: list[bytes] = []
    for case in CASES * 4:
        data = bytearray(case.data)
        at = random.randrange(len(data))
        if random.random() < 0.2:
            broken.append(bytes(data[:at]))
            continue
        data[at] = random.choice((0, 0x7F, 0x80, 0xFF, data[at] ^ 1 << random.randrange(8)))
        broken.append(bytes(data) if random.random() < 0.3 else resealed(bytes(data)))
    return broken


def resealed(data: bytes) -> bytes:
    """The same with the first checksum made right, where the header still has its length."""
    if data[MAGIC_OFFSET] < 2:
        size = 12 + int.from_bytes(data[8:12], "big", signed=True)
        body = data[MAGIC_OFFSET:size]
        return data[:12] + zlib.crc32(body).to_bytes(4, "big") + data[MAGIC_OFFSET:]
    if data[MAGIC_OFFSET] > 2:
        return data
    header = peek_header(data)
    fields = {
        name: getattr(header, name) for name in type(header).__slots__ if name not in ("batch_length", "magic", "crc")
    }
    if header.size_in_bytes != len(data):
        return data
    return seal_batch(data[61:], **fields)


def odd_sets() -> list[bytes]:
    """Wrappers that no builder makes: in each other, empty, null, with zstd, with other offsets, with another magic."""
    inner = [encode_message(offset, 9, b"k", b"v", magic=1) for offset in (3, 4, 9)]
    old = [encode_message(offset, 9, b"k", b"v", magic=0) for offset in (3, 4, 9)]

    def wrapper(content: bytes | None, offset: int = 20, codec: int = 1, magic: int = 1) -> bytes:
        value = None if content is None else compress(CompressionCodec(codec), content, magic=magic)
        return encode_message(offset, 5, None, value, magic=magic, attributes=codec)

    nested = wrapper(b"".join(inner), offset=9)
    return [
        wrapper(nested),
        wrapper(inner[0] + nested),
        wrapper(b""),
        wrapper(None),
        wrapper(b"".join(inner), codec=4),
        wrapper(b"".join(inner), offset=0),
        wrapper(b"".join(inner), offset=9),
        wrapper(b"".join(inner), offset=8),
        wrapper(b"".join(inner), offset=-1),
        wrapper(b"".join(inner) + inner[0][:20]),
        wrapper(b"".join(inner) + b"\x00" * 12),
        wrapper(b"".join(reversed(inner))),
        wrapper(b"".join(old), magic=0),
        wrapper(b"".join(old), magic=0, codec=3),
        wrapper(inner[0][:15] + b"\xff" + inner[0][16:]),
        encode_message(1, 9, None, b"v", magic=1, attributes=5),
        encode_message(1, -7, None, b"v", magic=1, attributes=8),
        b"".join(old) + b"".join(inner) + build([Record(offset=30, timestamp=9, key=None, value=b"v")], 2),
        b"".join(inner)[:-1],
    ]


@pytest.fixture(scope="module", params=RELEASES, ids=[f"kafka-clients-{release}" for release in RELEASES])
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The output of one JVM: sets that it builds, and its results for ours, broken and odd ones."""
    lines = [case.line for case in CASES]
    lines += [f"read {data.hex()}" for data in (*(case.data for case in CASES), *broken_sets(), *odd_sets())]
    scratch: Path = tmp_path_factory.mktemp("java")
    return run_java("RecordSets", request.param, lines, scratch)


def test_java_builds_the_same_bytes_before_compression(results: list[str]) -> None:
    for case, result in zip(CASES, results, strict=False):
        assert before_compression(bytes.fromhex(result)) == before_compression(case.data), case.line
        assert describe(bytes.fromhex(result)).split()[:6] == describe(case.data).split()[:6]


def test_java_reads_and_validates_what_is_built_here(results: list[str]) -> None:
    for case, result in zip(CASES, results[len(CASES) :], strict=False):
        assert result == describe(case.data), case.line


def test_broken_sets_are_refused_or_read_as_java_does(results: list[str]) -> None:
    broken = broken_sets()
    found = results[2 * len(CASES) : 2 * len(CASES) + len(broken)]
    assert sum(result.startswith("refused") for result in found) > len(found) / 3
    assert [
        (data.hex(), result, ours)
        for data, result in zip(broken, found, strict=True)
        if not same_verdict(result, ours := our_verdict(data))
    ] == []


def test_odd_wrappers_are_refused_or_read_as_java_does(results: list[str]) -> None:
    odd = odd_sets()
    found = results[-len(odd) :]
    assert [
        (data.hex(), result, ours)
        for data, result in zip(odd, found, strict=True)
        if verdict(result) != (ours := our_verdict(data))
    ] == []


def same_verdict(result: str, ours: str) -> bool:
    # Java decompresses as it goes: it may stumble over a record before it comes to the bytes that we refuse first.
    return verdict(result) == ours or (ours == CORRUPT_COMPRESSED_DATA and result.startswith("refused"))


def verdict(result: str) -> str:
    """Return the value that Java read, or the name of Kafka's error; all other exceptions are one kind."""
    if not result.startswith("refused"):
        return result
    for name in ("CorruptRecordException", "InvalidRecordException"):
        if f".{name}:" in result:
            return name
    return "other"


def our_verdict(data: bytes) -> str:
    try:
        return describe(data)
    except CorruptRecordBatch:
        return "CorruptRecordException"
    except InvalidRecord:
        return "InvalidRecordException"
    except CorruptCompressedData:
        return CORRUPT_COMPRESSED_DATA
    except RecordBatchError:
        return "other"
