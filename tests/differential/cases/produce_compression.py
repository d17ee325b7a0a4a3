"""Produce, as raw probes see it: codecs, and what the topic's compression.type makes of them."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

from protocol_specs.records.compression import CompressionCodec, compress
from tests.differential.case import case
from tests.differential.requests import TIME_MS, batch, produce, produce_all, read_back, record, sealed

if TYPE_CHECKING:
    from tests.differential.probe import Probe

CODECS = [codec for codec in CompressionCodec if codec != CompressionCodec.NONE]


def packed(codec: CompressionCodec, *records: bytes, count: int | None = None, **fields: int) -> bytes:
    """A compressed batch of any records."""
    count = len(records) if count is None else count
    return sealed(compress(codec, b"".join(records)), **({"count": count, "attributes": int(codec)} | fields))


@case()
def every_codec(probe: Probe) -> None:
    topic = probe.topic()
    for codec in CompressionCodec:
        for version in (3, 6, 7, 9):
            probe.exchange(produce(topic, batch(b"a", b"b" * 500, codec=codec)), version, note=codec.name)
    read_back(probe, topic)


@case()
def unknown_codecs(probe: Probe) -> None:
    topic = probe.topic()
    for codec in (5, 6, 7):
        for version in (3, 7, 8, 9):
            probe.exchange(produce(topic, sealed(record(), count=1, attributes=codec)), version, note=str(codec))


@case()
def unknown_codecs_fail_others_before_version_7(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    for codec in (5, 7):
        for version in (3, 6, 7, 9):
            bad = sealed(record(), count=1, attributes=codec)
            entries = ((topic, 0, batch(b"a")), (topic, 1, bad), (f"{probe.name}-none", 0, batch(b"b")))
            probe.exchange(produce_all(*entries), version, note=str(codec))
            probe.exchange(
                produce(topic, sealed(record(), count=1, attributes=codec, base_offset=3)), version, note="offset 3"
            )
            probe.exchange(produce(topic, bad, partition=7), version, note="an unknown partition")
    read_back(probe, topic)


@case()
def producers_that_no_batch_is_built_for(probe: Probe) -> None:
    """A batch that is compressed anew needs an epoch and a sequence; one that is kept does not."""
    for target in ("gzip", "producer"):
        topic = probe.topic(target, compression_type=target)
        for producer_id, epoch, sequence in (
            (5_100, -1, 0),
            (5_101, 0, -1),
            (-2, -1, 3),
            (-2, 0, -5),
            (-2, 0, 0),
            (-1, 3, 3),
        ):
            fields = {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": sequence}
            records = sealed(record(), count=1, **fields)
            probe.exchange(produce(topic, records), 9, note=f"{target} {producer_id} {epoch} {sequence}")
        transactional = sealed(record(), count=1, attributes=0x10)
        probe.exchange(produce(topic, transactional, transactional_id="t"), 9, note=f"{target} transactional")
        read_back(probe, topic)


@case()
def refused_records_whose_length_is_wrong(probe: Probe) -> None:
    """The length before a record of a compressed batch is not believed, also where its time is refused."""
    topic = probe.topic(message_timestamp_before_max_ms="1000")
    compacted = probe.topic("compacted", cleanup_policy="compact")
    for codec in CODECS:
        for body in (record(3), record(0, key=None)):
            records = packed(codec, b"\x7e" + body[1:], last_offset_delta=0)
            probe.exchange(produce(topic, records), 9, note=codec.name)
            probe.exchange(produce(compacted, records), 9, note=codec.name)


@case()
def garbage_instead_of_compressed_bytes(probe: Probe) -> None:
    topic = probe.topic()
    for codec in CODECS:
        for payload, note in ((b"", "empty"), (b"garbage garbage garbage", "text"), (record(), "a plain record")):
            records = sealed(payload, count=1, attributes=codec)
            probe.exchange(produce(topic, records), 9, note=f"{codec.name} {note}")
    read_back(probe, topic)


@case()
def compressed_bytes_that_are_cut(probe: Probe) -> None:
    topic = probe.topic()
    for codec in CODECS:
        payload = compress(codec, record(value=b"abc" * 100))
        for cut in (1, 8, len(payload) // 2):
            records = sealed(payload[:-cut], count=1, attributes=codec)
            probe.exchange(produce(topic, records), 9, note=f"{codec.name} {'half' if cut > 8 else cut}")
    read_back(probe, topic)


@case()
def counts_in_compressed_batches(probe: Probe) -> None:
    topic = probe.topic()
    for codec in CODECS:
        for count, last in ((1, 1), (1, 0), (3, 2), (3, 1), (2, 0), (0, 1), (-1, 1)):
            records = packed(codec, record(0), record(1), count=count, last_offset_delta=last)
            probe.exchange(produce(topic, records), 9, note=f"{codec.name} count {count}, last offset delta {last}")
    read_back(probe, topic)


@case()
def deltas_in_compressed_batches(probe: Probe) -> None:
    topic = probe.topic()
    for codec in CODECS:
        for deltas in ((1, 2), (0, 0), (1, 0), (0, 2), (-1, 1)):
            records = packed(codec, *map(record, deltas), last_offset_delta=1)
            probe.exchange(produce(topic, records), 9, note=f"{codec.name} {deltas}")
    for version in (3, 7, 8):
        records = packed(CompressionCodec.GZIP, record(1), record(2), last_offset_delta=1)
        probe.exchange(produce(topic, records), version)
    read_back(probe, topic)


@case()
def malformed_records_in_compressed_batches(probe: Probe) -> None:
    topic = probe.topic()
    good = record()
    for payload, note in (
        (b"", "nothing"),
        (good[:-1], "the last byte is missing"),
        (good + b"\0", "a byte after the record"),
        (good + good, "a second record"),
        (b"\0" + good[1:], "length 0"),
        (b"\1" + good[1:], "length -1"),
        (b"\x7e" + good[1:], "length 63"),
        (b"\x0c\0\0\0\3\1\0", "key of -2 bytes"),
        (b"\x0c\0\0\0\1\3\0", "value of -2 bytes"),
        (b"\x0c\0\0\0\1\1\1", "-1 headers"),
        (b"\x0c\0\0\0\1\1\2", "a header that is not there"),
        (b"\x10\0\0\0\1\1\2\1\1", "a header with a null key"),
        (b"\xff" * 20, "ones"),
    ):
        for codec in (CompressionCodec.GZIP, CompressionCodec.LZ4):
            probe.exchange(produce(topic, packed(codec, payload, count=1)), 9, note=f"{codec.name} {note}")
    read_back(probe, topic)


@case()
def the_max_timestamp_of_compressed_batches(probe: Probe) -> None:
    topic = probe.topic()
    for max_timestamp in (TIME_MS, TIME_MS + 50, TIME_MS + 99, -1):
        records = packed(CompressionCodec.GZIP, record(0), record(1, time_delta=50), max_timestamp=max_timestamp)
        probe.exchange(produce(topic, records), 9, note=str(max_timestamp - TIME_MS))
    read_back(probe, topic)


@case()
def empty_keys_in_compacted_topics(probe: Probe) -> None:
    topic = probe.topic(cleanup_policy="compact")
    for codec in CODECS:
        records = packed(codec, record(0), record(1, key=None), record(2, key=None))
        probe.exchange(produce(topic, records), 9, note=codec.name)
    read_back(probe, topic)


@case()
def a_topic_with_compression_type_uncompressed(probe: Probe) -> None:
    topic = probe.topic(compression_type="uncompressed")
    for codec in CompressionCodec:
        probe.exchange(produce(topic, batch(b"a", b"b" * 500, codec=codec)), 9, note=codec.name)
    read_back(probe, topic)


@case()
def topics_with_a_compression_type(probe: Probe) -> None:
    for target in ("gzip", "snappy", "lz4", "zstd"):
        topic = probe.topic(target, compression_type=target)
        for codec in CompressionCodec:
            probe.exchange(produce(topic, batch(b"a", b"b" * 500, codec=codec)), 9, note=f"{codec.name} to {target}")
        read_back(probe, topic)


@case()
def idempotent_batches_recompressed(probe: Probe) -> None:
    topic = probe.topic(compression_type="gzip")
    records = batch(b"a", b"b", producer_id=4_500, producer_epoch=2, base_sequence=0)
    for _ in range(2):
        probe.exchange(produce(topic, records), 9)
    read_back(probe, topic)


@case()
def wrong_records_in_a_topic_that_recompresses(probe: Probe) -> None:
    topic = probe.topic(compression_type="gzip")
    for records, note in (
        (sealed(record(1) + record(2), count=2), "deltas"),
        (sealed(record(0) + record(1), count=3), "count"),
        (sealed(record(0), count=1, max_timestamp=5), "max timestamp"),
        (sealed(record(0) + b"\0", count=1), "a byte more"),
        (sealed(record(0), count=1, attributes=8), "append time"),
        (sealed(b"\xff" * 20, count=1), "ones"),
        (sealed(record(0, attributes=5), count=1), "attributes of the record"),
    ):
        probe.exchange(produce(topic, records), 9, note=note)
    read_back(probe, topic)


@case()
def many_records_in_one_compressed_batch(probe: Probe) -> None:
    topic = probe.topic()
    for codec in CODECS:
        probe.exchange(produce(topic, batch(*[b"%d" % n for n in range(500)], codec=codec)), 9, note=codec.name)


@case()
def small_compressed_bytes_of_much(probe: Probe) -> None:
    """Records that decompress to more than max.message.bytes are fine: the batch counts as it is."""
    topic = probe.topic(max_message_bytes="20000")
    for codec in CODECS:
        probe.exchange(produce(topic, batch(b"x" * 300_000, codec=codec)), 9, note=codec.name)


@case()
def recompression_past_the_limit(probe: Probe) -> None:
    topic = probe.topic(max_message_bytes="20000", compression_type="uncompressed")
    for codec in CODECS:
        probe.exchange(produce(topic, batch(b"x" * 300_000, codec=codec)), 9, note=codec.name)
        probe.exchange(produce(topic, batch(b"x" * 300_000, codec=codec)), 7, note=codec.name)


@case()
def two_gzip_members(probe: Probe) -> None:
    topic = probe.topic()
    payload = gzip.compress(record(0), mtime=0) + gzip.compress(record(1), mtime=0)
    probe.exchange(produce(topic, sealed(payload, count=2, attributes=1)), 9)
    payload = gzip.compress(record(0), mtime=0) + b"garbage"
    probe.exchange(produce(topic, sealed(payload, count=1, attributes=1)), 9, note="garbage after the member")
    read_back(probe, topic)


@case()
def snappy_without_its_frame(probe: Probe) -> None:
    topic = probe.topic()
    plain = record()
    raw = bytes([len(plain), (len(plain) - 1) << 2]) + plain
    probe.exchange(produce(topic, sealed(raw, count=1, attributes=2)), 9)
    read_back(probe, topic)


@case(releases=("4.3.1",))
def levels_of_the_topic(probe: Probe) -> None:
    for codec, levels in (("gzip", ("-1", "1", "9")), ("lz4", ("1", "17")), ("zstd", ("-7", "1", "22"))):
        for level in levels:
            topic = probe.topic(f"{codec}{level}", **{"compression_type": codec, f"compression_{codec}_level": level})
            for source in (CompressionCodec.NONE, CompressionCodec.for_name(codec)):
                probe.exchange(produce(topic, batch(b"a" * 100, b"b", codec=source)), 9, note=f"{codec} {level}")
            read_back(probe, topic)


@case()
def sizes_after_another_codec(probe: Probe) -> None:
    for target in ("uncompressed", "gzip", "producer"):
        topic = probe.topic(target, compression_type=target, max_message_bytes="200")
        for codec in (CompressionCodec.NONE, CompressionCodec.GZIP):
            for size in (50, 130, 150, 1_000):
                probe.exchange(produce(topic, batch(b"v" * size, codec=codec)), 9, note=f"{target} {codec.name} {size}")
        read_back(probe, topic)


@case()
def records_that_another_codec_meets(probe: Probe) -> None:
    """Headers, nulls, wrong deltas and unused bits, written anew."""
    for target in ("gzip", "uncompressed"):
        topic = probe.topic(target, compression_type=target)
        for codec in (CompressionCodec.SNAPPY, CompressionCodec.NONE):
            for records, note in (
                ((record(0, headers=(("h", b"1"), ("i", None))), record(1)), "headers"),
                ((record(0, key=None, value=None), record(1, key=b"", value=b"")), "nulls"),
                ((record(5), record(5)), "offset deltas 5, 5"),
                ((record(0, attributes=0x7F), record(1)), "attributes"),
                ((record(0, time_delta=9), record(1, time_delta=-TIME_MS)), "times"),
                ((record(0, time_delta=-TIME_MS - 1), record(1, time_delta=-TIME_MS - 2)), "times below 0"),
            ):
                for attributes in (0, 8, 0x40):
                    sent = packed(codec, *records, attributes=int(codec) | attributes)
                    probe.exchange(produce(topic, sent), 9, note=f"{codec.name} {note} {attributes}")
        read_back(probe, topic)


@case()
def another_codec_on_topics_of_all_kinds(probe: Probe) -> None:
    stamped = probe.topic("stamped", compression_type="gzip", message_timestamp_type="LogAppendTime")
    compacted = probe.topic("compacted", compression_type="gzip", cleanup_policy="compact")
    bounded = probe.topic("bounded", compression_type="gzip", message_timestamp_before_max_ms="1000")
    for codec in (CompressionCodec.NONE, CompressionCodec.GZIP, CompressionCodec.LZ4):
        for topic in (stamped, compacted, bounded):
            for key in (b"k", None):
                for version in (3, 8, 9):
                    probe.exchange(
                        produce(topic, batch(b"a", b"b", key=key, codec=codec)), version, note=f"{codec.name} {key!r}"
                    )
            attributes = int(codec) | 8
            probe.exchange(
                produce(topic, packed(codec, record(0), attributes=attributes)), 9, note=f"{codec.name} bit 3"
            )
        for sequence in (0, 0, 1, 3):
            records = packed(codec, record(0), producer_id=9_000 + codec, producer_epoch=0, base_sequence=sequence)
            probe.exchange(produce(stamped, records), 9, note=f"{codec.name} sequence {sequence}")
    for topic in (stamped, compacted, bounded):
        read_back(probe, topic)
