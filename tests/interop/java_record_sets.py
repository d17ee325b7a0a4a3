"""Record sets and Kafka's own record classes: the drawn sets, and one JVM that reads many of them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from protocol_specs.records.batch_peek import BatchHeader, TimestampType
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.message_set import MessageSetBuilder, first_offset, messages_section
from protocol_specs.records.record_batch import Record, RecordBatchBuilder, records_section
from protocol_specs.records.record_set import iterate_any
from protocol_specs.records.record_validation import read_validated
from tests.interop.kafka_release import java_tool
from tests.interop.prepared_release import java_command

if TYPE_CHECKING:
    from random import Random

    from protocol_specs.records.record_set import AnyHeader

JAVA = Path(__file__).parent / "java"
RUN_SECONDS_MAX = 120
NOW_MS = 1_700_000_000_000
TYPE_NAMES = {
    None: "NoTimestampType",
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}
FORMATS = [
    (magic, codec) for magic in (0, 1, 2) for codec in CompressionCodec if magic == 2 or codec != CompressionCodec.ZSTD
]


def run_java(program: str, release: str, lines: list[str], scratch: Path) -> list[str]:
    """Return the output of a program in `java/`, one line per input line."""
    source = (JAVA / f"{program}.java").read_text()
    if not release.startswith("3."):
        # 4.x keeps all of the package but TimestampType to itself.
        source = re.sub(r"common\.record\.(?!TimestampType)", "common.record.internal.", source)
    java_tool("javac")  # a runtime alone cannot launch a source file
    file = scratch / f"{program}.java"
    file.write_text(source)
    run = subprocess.run(
        [*java_command(release), str(file)],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_SECONDS_MAX,
    )
    assert run.returncode == 0, run.stderr
    results = run.stdout.splitlines()
    assert len(results) == len(lines)
    return results


def draw_records(random: Random, magic: int, base_offset: int) -> list[Record]:
    offset = base_offset
    records: list[Record] = []
    for _ in range(random.choice((1, 2, 5, 40))):
        headers: tuple[tuple[str, bytes | None], ...] = ()
        if magic == 2 and random.random() < 0.3:
            headers = (("trace", random.randbytes(3)), ("\u00e9", None))[: random.randint(1, 2)]
        records.append(
            Record(
                offset=offset,
                timestamp=NOW_MS + random.randint(-500, 5_000),
                key=draw_bytes(random),
                value=draw_bytes(random),
                headers=headers,
            )
        )
        offset += 1 if random.random() < 0.8 else random.randint(2, 9)
    return records


def draw_bytes(random: Random) -> bytes | None:
    size = random.choice((-1, 0, 3, 64, 200))
    return None if size < 0 else random.randbytes(1) * size


def build(
    records: list[Record],
    magic: int,
    codec: CompressionCodec = CompressionCodec.NONE,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    base_offset: int = 0,
    producer_id: int = -1,
) -> bytes:
    """Return the output of our builders; with a producer id it is a transactional batch of that producer."""
    if magic < 2:
        messages = MessageSetBuilder(
            magic=magic,
            codec=codec,
            timestamp_type=timestamp_type,
            log_append_time=NOW_MS,
            base_offset=base_offset,
        )
        for record in records:
            messages.append_with_offset(record.offset, record.timestamp, record.key, record.value)
        return messages.build()
    batch = RecordBatchBuilder(
        codec=codec,
        timestamp_type=timestamp_type,
        log_append_time=NOW_MS,
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=-1 if producer_id < 0 else 3,
        base_sequence=-1 if producer_id < 0 else 7,
        is_transactional=producer_id >= 0,
    )
    for record in records:
        batch.append_with_offset(record.offset, record.timestamp, record.key, record.value, record.headers)
    return batch.build()


def build_line(
    records: list[Record],
    magic: int,
    codec: CompressionCodec,
    timestamp_type: TimestampType,
    base_offset: int,
    producer_id: int = -1,
    delete_horizon_ms: int = -1,
) -> str:
    """The input line of the Java program for the same set."""
    producer = "-1 -1 -1 false" if producer_id < 0 else f"{producer_id} 3 7 true"
    log_append_time = NOW_MS
    head = f"build {magic} {codec.type_name} {TYPE_NAMES[timestamp_type]} {base_offset} {log_append_time} {producer}"
    return " ".join([f"{head} -1 {delete_horizon_ms}", *map(record_word, records)])


def describe(record_set: bytes) -> str:
    """Return the result of our validating reader, in the format of RecordSets.java."""
    batches = zip(iterate_any(record_set), read_validated(record_set), strict=True)
    return "|".join(describe_batch(header, batch, records) for (header, batch), (_, records) in batches)


def describe_batch(header: AnyHeader, batch: memoryview, records: list[Record]) -> str:
    fields = (
        header.magic,
        header.codec.type_name,
        TYPE_NAMES[header.timestamp_type],
        header.base_offset if isinstance(header, BatchHeader) else first_offset(batch),
        header.last_offset,
        header.max_timestamp,
        header.size_in_bytes,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.last_sequence,
        header.partition_leader_epoch,
        str(header.is_transactional).lower(),
        str(header.is_control).lower(),
        "null" if header.records_count is None else header.records_count,
        "-" if header.delete_horizon_ms is None else header.delete_horizon_ms,
    )
    return " ".join([*map(str, fields), *map(record_word, records)])


def record_word(record: Record) -> str:
    headers = ";".join(f"{name.encode().hex()}={hex_of(value)}" for name, value in record.headers)
    return f"{record.offset}:{record.timestamp}:{hex_of(record.key)}:{hex_of(record.value)}:{headers}"


def hex_of(data: bytes | None) -> str:
    return "-" if data is None else data.hex()


def before_compression(record_set: bytes) -> list[tuple[object, ...]]:
    """A record set without what depends on who compresses: sizes, checksums and compressed bytes."""
    found: list[tuple[object, ...]] = []
    for header, batch in iterate_any(record_set):
        if not header.is_compressed:
            found.append((bytes(batch),))
            continue
        section = records_section(batch, header) if isinstance(header, BatchHeader) else messages_section(batch)
        sizes = ("batch_length", "size", "crc")
        fields = [getattr(header, name) for name in type(header).__slots__ if name not in sizes]
        found.append((*fields, section))
    return found
