"""Record sets in Kafka 3.7's broker and here: fetches, appends, decompression."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import CompressionError, RecordBatchError
from protocol_specs.records.batch_peek import TimestampType
from protocol_specs.records.compression import CompressionCodec, compress, decompress
from protocol_specs.records.control_records import (
    ControlRecordType,
    EndTransactionMarker,
    end_transaction_marker_batch,
)
from protocol_specs.records.down_conversion import down_convert, down_convert_for_fetch
from protocol_specs.records.message_set import encode_message
from protocol_specs.records.offset_assignment import AssignmentRules, validate_and_assign_offsets
from protocol_specs.records.record_batch import Record
from protocol_specs.records.record_validation import NO_LIMIT_MS
from tests.interop.java_record_sets import (
    FORMATS,
    NOW_MS,
    TYPE_NAMES,
    before_compression,
    build,
    draw_records,
    run_java,
)

if TYPE_CHECKING:
    from pathlib import Path

# Down-conversion left Kafka in 4.0.
RELEASE = "3.7.2"
CREATE, APPEND = TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME
CODES = {
    "CorruptRecordException": ErrorCode.CORRUPT_MESSAGE,
    "InvalidRecordException": ErrorCode.INVALID_RECORD,
    "InvalidTimestampException": ErrorCode.INVALID_TIMESTAMP,
    "UnsupportedForMessageFormatException": ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    "UnsupportedCompressionTypeException": ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
}


class ConversionCase(NamedTuple):
    """A line for Java, and our result: bytes and other values, or an error code."""

    line: str
    ours: list[object]


def stored_sets() -> list[bytes]:
    """Contents of a partition: one batch, several of mixed magic, transactions with markers, a truncated end."""
    random = Random(7)
    sets: list[bytes] = []
    for magic, codec in FORMATS:
        for timestamp_type in TimestampType:
            records = draw_records(random, magic, 100)
            sets.append(build(records, magic, codec, timestamp_type, 100))
            mixed = [
                build(draw_records(random, older, base), older, one, timestamp_type, base)
                for base, older, one in ((0, 0, codec), (500, 1, codec), (1000, magic, codec), (2000, 2, codec))
                if older == 2 or one is not CompressionCodec.ZSTD
            ]
            marker = end_transaction_marker_batch(
                EndTransactionMarker(control_type=ControlRecordType.COMMIT, coordinator_epoch=1),
                producer_id=42,
                producer_epoch=3,
                timestamp_ms=NOW_MS,
                base_offset=3000,
            )
            sets += [
                b"".join(mixed),
                b"".join((*mixed, marker)),
                marker + mixed[-1],
                mixed[-1][:-1],
                b"".join(mixed)[:-3],
            ]
    return [*sets, b"", build(draw_records(random, 2, 0), 2) * 300]


def fetches() -> list[ConversionCase]:
    requested: list[ConversionCase] = []
    for data in stored_sets():
        for to_magic in (0, 1, 2):
            for first_offset in (0, 102):
                line = f"{to_magic} {first_offset} {data.hex()}"
                requested.append(ConversionCase(f"down {line}", down(data, to_magic, first_offset)))
                if all(part[0] == 0 or len(part) == 1 for part in [*before_compression(data), (0,)]):
                    requested.append(ConversionCase(f"fetch {line}", fetch(data, to_magic, first_offset)))
    return requested


def down(data: bytes, to_magic: int, first_offset: int) -> list[object]:
    try:
        converted = down_convert(data, to_magic=to_magic, first_offset=first_offset)
    except RecordBatchError as error:
        return [error.error_code]
    return list(before_compression(converted.records))


def fetch(data: bytes, to_magic: int, first_offset: int) -> list[object]:
    try:
        return [down_convert_for_fetch(data, to_magic=to_magic, first_offset=first_offset)]
    except RecordBatchError as error:
        return [error.error_code]


def produced_sets() -> list[bytes]:
    """The sets of clients: valid ones, and ones that a leader refuses or has to convert."""
    random = Random(8)
    sets: list[bytes] = []
    plain = [Record(offset=at, timestamp=NOW_MS, key=b"k", value=b"v") for at in range(3)]
    for magic, codec in FORMATS:
        for count in (1, 3, 12):
            records = draw_records(random, magic, 0)[:count]
            dense = [
                Record(
                    offset=at, timestamp=record.timestamp, key=record.key, value=record.value, headers=record.headers
                )
                for at, record in enumerate(records)
            ]
            sets += [build(dense, magic, codec), build(records, magic, codec), build(dense, magic, codec, APPEND)]
        sets += [build(plain, magic, codec), build(plain, magic, codec) * 2]
        if magic == 2:
            sets.append(build(plain, magic, codec, producer_id=42))
        elif codec is not CompressionCodec.NONE:
            inner = build(plain, magic)
            broken = inner[:-1] + b"w"
            other = build(plain, 1 - magic)
            sets += [
                encode_message(0, NOW_MS, None, compress(codec, content, magic=magic), magic=magic, attributes=codec)
                for content in (inner, broken, other, inner[:-1])
            ]
    return [
        *sets,
        b"",
        build(plain, 0) + build(plain, 1),
        build([Record(offset=0, timestamp=-1, key=None, value=None)], 2),
    ]


def appends() -> list[ConversionCase]:
    random = Random(9)
    requested: list[ConversionCase] = []
    for data in produced_sets():
        for to_magic in (0, 1, 2):
            for timestamp_type in TimestampType:
                target = random.choice((None, *CompressionCodec))
                if to_magic < 2 and target is CompressionCodec.ZSTD:
                    target = None
                rules = AssignmentRules(
                    to_magic=to_magic,
                    target_codec=target,
                    timestamp_type=timestamp_type,
                    now_ms=NOW_MS,
                    timestamp_before_max_ms=random.choice((NO_LIMIT_MS, 200)),
                    timestamp_after_max_ms=random.choice((NO_LIMIT_MS, 3_000)),
                    compacted=random.random() < 0.3,
                    partition_leader_epoch=7,
                )
                requested.append(ConversionCase(append_line(data, rules), append(data, rules)))
    return requested


def append_line(data: bytes, rules: AssignmentRules) -> str:
    codec = "producer" if rules.target_codec is None else rules.target_codec.type_name
    topic = f"{rules.to_magic} {codec} {TYPE_NAMES[rules.timestamp_type]}"
    limits = f"{rules.timestamp_before_max_ms} {rules.timestamp_after_max_ms}"
    compacted = str(rules.compacted).lower()
    return f"assign {topic} 5000 7 CLIENT {compacted} {limits} {rules.now_ms} {data.hex()}"


def append(data: bytes, rules: AssignmentRules) -> list[object]:
    try:
        assigned = validate_and_assign_offsets(data, offset=5000, rules=rules)
    except RecordBatchError as error:
        return [error.error_code]
    max_timestamp = "" if rules.to_magic == 0 else str(assigned.max_timestamp)
    return [str(assigned.next_offset), max_timestamp, *before_compression(assigned.records)]


def decompressions() -> list[ConversionCase]:
    """Snappy framed and raw, and what stands around and between; LZ4 with its two header checksums."""
    plain = b"The quick brown fox. " * 40
    framed = compress(CompressionCodec.SNAPPY, plain)
    raw = framed[20:]
    cases = [(CompressionCodec.SNAPPY, 2, data) for data in (framed, raw, framed * 2, framed + raw, raw + framed, b"")]
    cases += [(CompressionCodec.SNAPPY, 2, framed[:cut]) for cut in (8, 15, 16, 18, 40)]
    cases += [(CompressionCodec.SNAPPY, 2, raw[:cut]) for cut in (1, 7, 16, 30)]
    frames = [compress(CompressionCodec.LZ4, plain, magic=magic) for magic in (0, 1, 2)]
    cases += [(CompressionCodec.LZ4, magic, frame) for magic in (0, 1, 2) for frame in frames]
    return [
        ConversionCase(f"decompress {magic} {codec.type_name} {data.hex()}", plain_of(codec, magic, data))
        for codec, magic, data in cases
    ]


def plain_of(codec: CompressionCodec, magic: int, data: bytes) -> list[object]:
    try:
        return [decompress(codec, data, limit_bytes=1 << 20, magic=magic)]
    except CompressionError:
        return [ErrorCode.UNKNOWN_SERVER_ERROR]


CASES_OF = {"fetches": fetches, "appends": appends, "decompressions": decompressions}


@pytest.mark.parametrize("kind", CASES_OF)
def test_kafka_does_the_same(kind: str, tmp_path: Path) -> None:
    requested = CASES_OF[kind]()
    results = run_java("ConvertRecordSets", RELEASE, [one.line for one in requested], tmp_path)
    assert any(not result.startswith("refused") for result in results)
    assert [
        (one.line, result, one.ours)
        for one, result in zip(requested, results, strict=True)
        if java(one, result) != one.ours
    ] == []


def java(requested: ConversionCase, result: str) -> list[object]:
    if result.startswith("refused"):
        return [next((code for name, code in CODES.items() if f".{name}" in result), ErrorCode.UNKNOWN_SERVER_ERROR)]
    if requested.line.startswith("down"):
        return list(before_compression(bytes.fromhex(result)))
    if requested.line.startswith("assign"):
        next_offset, max_timestamp, records = result.split(" ")
        if requested.line.startswith("assign 0"):
            max_timestamp = ""  # 3.7 returns a time here, which messages of magic 0 do not have; later releases do not
        return [next_offset, max_timestamp, *before_compression(bytes.fromhex(records))]
    return [bytes.fromhex(result)]
