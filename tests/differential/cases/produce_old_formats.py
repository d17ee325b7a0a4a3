"""Produce, as raw probes see it: message sets of magic 0 and 1, and record sets of several batches, before version 3.

Kafka 4.x closes the connection on these versions; 3.7 converts what they carry to its own format.
"""

from __future__ import annotations

import struct
from binascii import crc32
from typing import TYPE_CHECKING

from protocol_specs.records.batch_builder import RecordBatchBuilder
from protocol_specs.records.batch_peek import TimestampType
from protocol_specs.records.compression import CompressionCodec, compress
from protocol_specs.records.message_set import MessageSetBuilder, encode_message
from tests.differential.case import case
from tests.differential.requests import (
    FAR_FUTURE_MS,
    TIME_MS,
    batch,
    fetch,
    idempotent,
    message_set,
    patched,
    produce,
    produce_all,
    read_back,
    record,
    sealed,
    wanted,
)

if TYPE_CHECKING:
    from tests.differential.probe import Probe

OLD = ("3.7.2",)
MAGICS = (0, 1)
NONE, GZIP, ZSTD = CompressionCodec.NONE, CompressionCodec.GZIP, CompressionCodec.ZSTD
CODECS = (NONE, GZIP, CompressionCodec.SNAPPY, CompressionCodec.LZ4)


def messages(
    magic: int,
    *values: bytes | None,
    codec: CompressionCodec = NONE,
    key: bytes | None = b"k",
    times: tuple[int, ...] = (),
    base_offset: int = 0,
) -> bytes:
    """One message set; without `times` all are at TIME_MS."""
    builder = MessageSetBuilder(magic=magic, codec=codec, base_offset=base_offset)
    for index, value in enumerate(values):
        builder.append(times[index] if times else TIME_MS + index, key, value)
    return builder.build()


def wrapper(magic: int, inner: bytes | None, *, offset: int = 0, codec: int = GZIP, time_ms: int = TIME_MS) -> bytes:
    """A wrapper around any bytes."""
    value = None if inner is None else compress(CompressionCodec(codec), inner, magic=magic)
    return encode_message(offset, time_ms, None, value, magic=magic, attributes=codec)


def raw_message(magic: int, rest: bytes, *, attributes: int = 0) -> bytes:
    """A message with any bytes where key and value should be, and a right checksum."""
    body = bytes((magic, attributes)) + (struct.pack(">q", TIME_MS) if magic else b"") + rest
    return struct.pack(">qiI", 0, len(body) + 4, crc32(body)) + body


@case(releases=OLD)
def every_version_magic_and_codec(probe: Probe) -> None:
    topic = probe.topic()
    for version in range(3):
        for magic in MAGICS:
            for codec in CODECS:
                records = messages(magic, b"a", b"b", b"c" * 100, codec=codec)
                probe.exchange(produce(topic, records), version, note=f"magic {magic} {codec.name}")
    read_back(probe, topic)


@case()
def old_formats_in_every_later_version(probe: Probe) -> None:
    topic = probe.topic()
    for version in range(3, 13):
        for magic in MAGICS:
            for codec in (NONE, GZIP):
                probe.exchange(
                    produce(topic, messages(magic, b"a", codec=codec)), version, note=f"{magic} {codec.name}"
                )
        probe.exchange(produce(topic, batch(b"a") + message_set(1)), version, note="a message after a batch")
    read_back(probe, topic)


@case(releases=OLD)
def keys_and_values_may_be_null(probe: Probe) -> None:
    topic = probe.topic()
    for magic in MAGICS:
        for codec in (NONE, GZIP):
            for key in (None, b"", b"k"):
                probe.exchange(produce(topic, messages(magic, None, b"", b"v", codec=codec, key=key)), 2)
    read_back(probe, topic)


@case(releases=OLD)
def times_of_messages(probe: Probe) -> None:
    topic = probe.topic()
    for codec in (NONE, GZIP):
        for times in (
            (TIME_MS, TIME_MS - 50),
            (-1, -1),
            (0, 5),
            (-1, TIME_MS),
            (FAR_FUTURE_MS, TIME_MS),
            (TIME_MS, 9_223_372_036_854_775_807),
        ):
            probe.exchange(produce(topic, messages(1, b"a", b"b", codec=codec, times=times)), 2, note=f"{times}")
    negative = encode_message(0, -2, b"k", b"v", magic=1)
    probe.exchange(produce(topic, negative), 2, note="-2")
    probe.exchange(produce(topic, wrapper(1, negative)), 2, note="-2 in a wrapper")
    read_back(probe, topic)


@case(releases=OLD)
def bounds_of_time(probe: Probe) -> None:
    topic = probe.topic(message_timestamp_before_max_ms="1000", message_timestamp_after_max_ms="1000")
    for magic in MAGICS:
        for codec in (NONE, GZIP):
            for times in ((TIME_MS,), (FAR_FUTURE_MS,), (-1,)):
                probe.exchange(
                    produce(topic, messages(magic, b"a", codec=codec, times=times)), 2, note=f"{magic} {times}"
                )
    read_back(probe, topic)


@case(releases=OLD)
def log_append_time(probe: Probe) -> None:
    topic = probe.topic(message_timestamp_type="LogAppendTime")
    for version in range(3):
        for magic in MAGICS:
            for codec in (NONE, GZIP):
                probe.exchange(produce(topic, messages(magic, b"a", b"b", codec=codec)), version)
    probe.exchange(produce(topic, messages(1, b"a", times=(FAR_FUTURE_MS,))), 2, note="the future")
    for fetched in (12, 2, 0):
        probe.exchange(fetch(topic, wanted()), fetched)


@case(releases=OLD)
def producers_that_write_log_append_time(probe: Probe) -> None:
    for kind in ("CreateTime", "LogAppendTime"):
        topic = probe.topic(kind, message_timestamp_type=kind)
        for codec in (NONE, GZIP):
            builder = MessageSetBuilder(
                magic=1, codec=codec, timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=TIME_MS + 7
            )
            builder.append(TIME_MS, b"k", b"a")
            builder.append(TIME_MS, b"k", b"b")
            probe.exchange(produce(topic, builder.build()), 2, note=codec.name)
        inner = encode_message(0, TIME_MS, b"k", b"v", magic=1, attributes=8)
        probe.exchange(produce(topic, wrapper(1, inner)), 2, note="inside only")
        read_back(probe, topic)


@case(releases=OLD)
def compacted_topics(probe: Probe) -> None:
    topic = probe.topic(cleanup_policy="compact")
    for magic in MAGICS:
        for codec in (NONE, GZIP):
            for key in (None, b"", b"k"):
                probe.exchange(produce(topic, messages(magic, b"a", codec=codec, key=key)), 2, note=f"{magic} {key!r}")
            mixed = messages(magic, b"a") + messages(magic, b"b", key=None)
            probe.exchange(
                produce(topic, mixed if codec is NONE else wrapper(magic, mixed)), 2, note="the second has none"
            )
    read_back(probe, topic)


@case(releases=OLD)
def checksums(probe: Probe) -> None:
    topic = probe.topic()
    for magic in MAGICS:
        right = messages(magic, b"a")
        wrong = patched(right, 12, ">I", 7)
        probe.exchange(produce(topic, wrong), 2, note="wrong")
        probe.exchange(produce(topic, right + wrong), 2, note="the second is wrong")
        probe.exchange(produce(topic, wrapper(magic, wrong)), 2, note="wrong inside")
        probe.exchange(produce(topic, wrapper(magic, right + wrong)), 2, note="the second inside is wrong")
        probe.exchange(produce(topic, patched(wrapper(magic, right), 12, ">I", 7)), 2, note="the wrapper's")
    read_back(probe, topic)


@case(releases=OLD)
def magics_inside(probe: Probe) -> None:
    topic = probe.topic()
    for magic in MAGICS:
        other = messages(1 - magic, b"a")
        probe.exchange(produce(topic, wrapper(magic, other)), 2, note=f"{1 - magic} inside {magic}")
        probe.exchange(produce(topic, wrapper(magic, messages(magic, b"a") + other)), 2, note="the second is foreign")
        probe.exchange(produce(topic, wrapper(magic, messages(magic, b"a", codec=GZIP))), 2, note="a wrapper inside")
        probe.exchange(produce(topic, wrapper(magic, batch(b"a"))), 2, note="a batch inside")
    read_back(probe, topic)


@case(releases=OLD)
def several_in_a_set(probe: Probe) -> None:
    topic = probe.topic()
    zero, one, two = message_set(0), message_set(1), batch(b"a")
    for records, note in (
        (zero + zero, "0 0"),
        (one + one, "1 1"),
        (zero + one, "0 1"),
        (one + zero, "1 0"),
        (one + two, "1 2"),
        (zero + two, "0 2"),
        (two + one, "2 1"),
        (two + two, "2 2"),
        (messages(1, b"a", codec=GZIP) * 2, "two wrappers"),
        (messages(0, b"a", codec=GZIP) * 2, "two wrappers of 0"),
        (messages(1, b"a", codec=GZIP) + one, "a wrapper, a message"),
        (one + messages(1, b"a", codec=GZIP), "a message, a wrapper"),
        (batch(b"a", codec=GZIP) + two, "a compressed batch, a batch"),
        (two + batch(b"a", codec=GZIP), "a batch, a compressed batch"),
    ):
        for version in (0, 2):
            probe.exchange(produce(topic, records), version, note=note)
    read_back(probe, topic)


@case(releases=OLD)
def offsets_of_messages(probe: Probe) -> None:
    topic = probe.topic()
    for magic in MAGICS:
        for base in (5, -1, -5, 9_000_000_000):
            probe.exchange(
                produce(topic, messages(magic, b"a", b"b", base_offset=base)), 2, note=f"{magic} from {base}"
            )
        same = encode_message(3, TIME_MS, b"k", b"v", magic=magic)
        probe.exchange(produce(topic, same + same), 2, note="twice the same")
        for offset in (0, 1, 5, -1):
            inner = messages(magic, b"a", b"b")
            probe.exchange(produce(topic, wrapper(magic, inner, offset=offset)), 2, note=f"{magic} wrapper at {offset}")
            probe.exchange(produce(topic, wrapper(magic, same + same, offset=offset)), 2, note=f"3 and 3, at {offset}")
    read_back(probe, topic)


@case(releases=OLD)
def wrappers_without_messages(probe: Probe) -> None:
    topic = probe.topic()
    for magic in MAGICS:
        whole = messages(magic, b"a", b"b")
        for inner, note in (
            (b"", "nothing"),
            (None, "null"),
            (b"\0" * 11, "11 bytes"),
            (b"\0" * 40, "zeros"),
            (b"\xff" * 40, "ones"),
            (whole[:-1], "the last is cut"),
            (whole[:20], "the first is cut"),
            (whole + b"\0" * 5, "bytes after"),
        ):
            probe.exchange(produce(topic, wrapper(magic, inner)), 2, note=f"{magic} {note}")
        for codec in CODECS[1:]:
            for garbage in (b"", b"garbage garbage garbage"):
                records = encode_message(0, TIME_MS, None, garbage, magic=magic, attributes=codec)
                probe.exchange(produce(topic, records), 2, note=f"{magic} {codec.name} {garbage[:7]!r}")
    read_back(probe, topic)


@case(releases=OLD)
def codecs_that_the_format_does_not_have(probe: Probe) -> None:
    topic = probe.topic()
    for magic in MAGICS:
        for codec in (4, 5, 6, 7):
            packed = compress(ZSTD, messages(magic, b"a"))
            records = encode_message(0, TIME_MS, None, packed, magic=magic, attributes=codec)
            probe.exchange(produce(topic, records), 2, note=f"{magic} {codec}")
            probe.exchange(produce(topic, message_set(magic) + records), 2, note=f"{magic} {codec} after a message")
    read_back(probe, topic)


@case(releases=OLD)
def unused_attributes(probe: Probe) -> None:
    topic = probe.topic()
    for magic in MAGICS:
        for attributes in (8, 16, 32, 128, 0xF8):
            records = encode_message(0, TIME_MS, b"k", b"v", magic=magic, attributes=attributes)
            probe.exchange(produce(topic, records), 2, note=f"{magic} {attributes}")
            probe.exchange(produce(topic, wrapper(magic, records)), 2, note=f"{magic} {attributes} inside")
    read_back(probe, topic)


@case(releases=OLD)
def keys_and_values_that_leave_the_message(probe: Probe) -> None:
    topic = probe.topic()
    for magic in MAGICS:
        for rest, note in (
            (b"", "no sizes"),
            (struct.pack(">i", -1), "no size of the value"),
            (struct.pack(">i", 50) + b"k", "a long key"),
            (struct.pack(">i1si", 1, b"k", 50) + b"v", "a long value"),
            (struct.pack(">i1si", 1, b"k", 0) + b"vvv", "bytes after the value"),
            (struct.pack(">ii", -2, -2), "-2"),
            (struct.pack(">ii", 2**31 - 1, 0), "an endless key"),
        ):
            records = raw_message(magic, rest)
            probe.exchange(produce(topic, records), 2, note=f"{magic} {note}")
            probe.exchange(produce(topic, wrapper(magic, records)), 2, note=f"{magic} {note}, inside")
    read_back(probe, topic)


@case(releases=OLD)
def frames(probe: Probe) -> None:
    topic = probe.topic()
    for records, note in (
        (None, "null"),
        (b"", "empty"),
        (b"\0" * 5, "5 bytes"),
        (b"\0" * 12, "12 zeros"),
        (b"\0" * 30, "30 zeros"),
        (struct.pack(">qi", 0, 13) + b"\0" * 13, "size 13"),
        (struct.pack(">qi", 0, 14) + b"\0" * 14, "size 14"),
        (struct.pack(">qi", 0, -1) + b"\0" * 14, "size -1"),
        (struct.pack(">qi", 0, 2**31 - 1) + b"\0" * 14, "size 2 GiB"),
        (struct.pack(">qiib", 0, 20, 0, 3) + b"\0" * 30, "magic 3"),
        (struct.pack(">qiib", 0, 20, 0, -1) + b"\0" * 30, "magic -1"),
        (struct.pack(">qiib", 0, 20, 0, 1) + b"\0" * 15, "magic 1 of 20 bytes"),
        (struct.pack(">qiib", 0, 20, 0, 2) + b"\0" * 15, "magic 2 of 20 bytes"),
        (struct.pack(">qiib", 0, 40, 0, 2) + b"\0" * 35, "magic 2 of 40 bytes"),
        (message_set(0)[:-1], "cut by one"),
        (message_set(1)[:-1], "cut by one"),
        (batch(b"a")[:-1], "a batch cut by one"),
        (message_set(1) + message_set(1)[:-1], "the second is cut"),
        (message_set(1) + b"\0" * 12, "zeros after"),
        (message_set(1) + b"\0" * 11, "11 zeros after"),
        (batch(b"a") + b"\0" * 5, "bytes after a batch"),
    ):
        for version in (0, 2):
            probe.exchange(produce(topic, records), version, note=note, seconds=2)
    read_back(probe, topic)


@case(releases=OLD)
def sizes(probe: Probe) -> None:
    topic = probe.topic(max_message_bytes="100")
    for magic in MAGICS:
        for codec in (NONE, GZIP):
            for size in (1, 20, 60, 100):
                probe.exchange(produce(topic, messages(magic, b"v" * size, codec=codec)), 2, note=f"{magic} {size}")
        probe.exchange(produce(topic, messages(magic, *[b"v"] * 10)), 2, note="ten small ones")
        probe.exchange(produce(topic, messages(magic, *[b"v"] * 50, codec=GZIP)), 2, note="many in a wrapper")
    read_back(probe, topic)


@case(releases=OLD)
def segments(probe: Probe) -> None:
    topic = probe.topic(segment_bytes="100")
    for magic in MAGICS:
        probe.exchange(produce(topic, messages(magic, b"v")), 2)
        probe.exchange(produce(topic, messages(magic, *[b"v"] * 10)), 2, note="ten")
    read_back(probe, topic)


@case(releases=OLD)
def codec_of_the_topic(probe: Probe) -> None:
    for target in ("uncompressed", "gzip", "snappy", "lz4", "zstd"):
        topic = probe.topic(target, compression_type=target)
        for magic in MAGICS:
            for codec in CODECS:
                probe.exchange(
                    produce(topic, messages(magic, b"a", b"b", codec=codec)), 2, note=f"{magic} {codec.name}"
                )
            probe.exchange(produce(topic, messages(magic, b"a", key=None)), 1, note="no key")
        probe.exchange(produce(topic, encode_message(0, -2, b"k", b"v", magic=1)), 2, note="time -2")
        probe.exchange(produce(topic, message_set(1) + batch(b"b")), 2, note="a batch after a message")
        read_back(probe, topic)


@case(releases=OLD)
def batches_in_old_versions(probe: Probe) -> None:
    topic = probe.topic()
    for version in range(3):
        for codec in CompressionCodec:
            probe.exchange(produce(topic, batch(b"a", codec=codec)), version, note=codec.name)
        probe.exchange(produce(topic, batch(b"a", base_offset=5)), version, note="base offset 5")
        probe.exchange(produce(topic, sealed(record(), count=1, attributes=5)), version, note="codec 5")
        probe.exchange(produce(topic, sealed(record(), count=1, attributes=0x20)), version, note="control")
        probe.exchange(produce(topic, sealed(record(), count=1, attributes=0x10)), version, note="transactional")
    for sequence in (0, 1, 1, 5):
        probe.exchange(produce(topic, idempotent(7_000, 0, sequence)), 2, note=f"sequence {sequence}")
    compacted = probe.topic("compacted", cleanup_policy="compact")
    probe.exchange(produce(compacted, batch(b"a", key=None)), 2)
    headers = RecordBatchBuilder()
    headers.append(TIME_MS, b"k", b"v", (("h", b"1"),))
    probe.exchange(produce(topic, headers.build()), 1, note="headers")
    read_back(probe, topic)


@case(releases=OLD)
def acks(probe: Probe) -> None:
    topic = probe.topic()
    for count in (1, -1, 2):
        probe.exchange(produce(topic, message_set(1), acks=count), 1, note=str(count))
    probe.expect_silence(produce(topic, message_set(1), acks=0), 1)
    probe.exchange(produce(topic, patched(message_set(1), 12, ">I", 7), acks=0), 1, note="wrong checksum", seconds=2)
    read_back(probe, topic)


@case(releases=OLD)
def several_partitions(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    entries = ((topic, 0, message_set(0)), (topic, 1, patched(message_set(1), 12, ">I", 7)), (topic, 2, batch(b"a")))
    for version in range(3):
        probe.exchange(produce_all(*entries, (topic, 9, message_set(1)), (f"{probe.name}-none", 0, b"")), version)
    for partition in range(3):
        read_back(probe, topic, partition=partition)


@case(releases=OLD)
def message_format_version_of_the_topic_is_ignored(probe: Probe) -> None:
    for number, version in enumerate(("0.8.2", "0.9.0", "0.10.0", "0.11.0", "3.7")):
        topic = probe.topic(str(number), message_format_version=version)
        probe.exchange(produce(topic, message_set(0)), 0, note=version)
        probe.exchange(produce(topic, message_set(1)), 2, note=version)
        probe.exchange(produce(topic, idempotent(7_100, 0, 0)), 9, note=version)
        read_back(probe, topic)


@case(releases=("4.3.1",))
def old_versions_close_the_connection(probe: Probe) -> None:
    topic = probe.topic()
    for version in range(3):
        for records in (message_set(0), message_set(1), batch(b"a")):
            probe.exchange(produce(topic, records), version)
    read_back(probe, topic)
