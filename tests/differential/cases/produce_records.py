"""Produce, as raw probes see it: the same wrong records in every kind of topic, plain and compressed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.records.compression import CompressionCodec, compress
from protocol_specs.records.varints import encode_varint
from tests.differential.case import case
from tests.differential.cases.produce_batches import RECORD_BODIES
from tests.differential.requests import TIME_MS, produce, read_back, record, sealed

if TYPE_CHECKING:
    from tests.differential.probe import Probe

NONE, GZIP, SNAPPY, LZ4, ZSTD = CompressionCodec

# Payload, count, last offset delta; None: count - 1.
SETS: tuple[tuple[bytes, int, int | None, str], ...] = (
    (record(0) + record(1), 3, None, "one too few"),
    (record(0) + record(1), 1, None, "one too many"),
    (record(0) + record(1), 2, 5, "a last offset delta of 5"),
    (record(0) + record(1), 0, 1, "a count of 0"),
    (record(0) + record(1), -1, 1, "a count of -1"),
    (record(1) + record(2), 2, None, "deltas 1 and 2"),
    (record(0) + record(0), 2, None, "deltas 0 and 0"),
    (record(1) + record(0), 2, None, "deltas 1 and 0"),
    (b"", 1, None, "nothing"),
    (record() + b"\0", 1, None, "a zero after the record"),
    (record()[:-1], 1, None, "a record that is cut"),
    (record(time_delta=-TIME_MS - 5), 1, None, "a negative time"),
    (record(time_delta=7), 1, None, "a wrong max timestamp"),
    (record(key=None) + record(1, key=None), 2, None, "no keys"),
    (record(0) + record(1, key=None), 2, None, "no second key"),
    (record(attributes=1), 1, None, "attributes of a record"),
    (b"\xff" * 30, 1, None, "ones"),
    (b"\x80" * 4 + b"\x01", 1, None, "a length in 5 bytes"),
    (encode_varint(10_000_000) + record()[1:], 1, None, "a length of 10000000"),
    (encode_varint(-2_147_483_648) + record()[1:], 1, None, "a length of -2**31"),
)


def send_all(probe: Probe, topic: str, codec: CompressionCodec) -> None:
    """Every wrong record and set of records, one a request; then what stands in the log."""
    for body, note in RECORD_BODIES:
        payload = compress(codec, encode_varint(len(body)) + body)
        probe.exchange(produce(topic, sealed(payload, count=1, attributes=int(codec))), 9, note=note)
    for payload, count, last, note in SETS:
        fields = {} if last is None else {"last_offset_delta": last}
        records = sealed(compress(codec, payload), count=count, attributes=int(codec), **fields)
        probe.exchange(produce(topic, records), 9, note=note)
    read_back(probe, topic)


@case()
def plain(probe: Probe) -> None:
    send_all(probe, probe.topic(), NONE)


@case()
def gzip(probe: Probe) -> None:
    send_all(probe, probe.topic(), GZIP)


@case()
def snappy(probe: Probe) -> None:
    send_all(probe, probe.topic(), SNAPPY)


@case()
def lz4(probe: Probe) -> None:
    send_all(probe, probe.topic(), LZ4)


@case()
def zstd(probe: Probe) -> None:
    send_all(probe, probe.topic(), ZSTD)


@case()
def plain_at_append_time(probe: Probe) -> None:
    send_all(probe, probe.topic(message_timestamp_type="LogAppendTime"), NONE)


@case()
def gzip_at_append_time(probe: Probe) -> None:
    send_all(probe, probe.topic(message_timestamp_type="LogAppendTime"), GZIP)


@case()
def plain_to_gzip(probe: Probe) -> None:
    send_all(probe, probe.topic(compression_type="gzip"), NONE)


@case()
def lz4_to_gzip(probe: Probe) -> None:
    send_all(probe, probe.topic(compression_type="gzip"), LZ4)


@case()
def zstd_to_uncompressed(probe: Probe) -> None:
    send_all(probe, probe.topic(compression_type="uncompressed"), ZSTD)


@case()
def plain_to_lz4_at_append_time(probe: Probe) -> None:
    topic = probe.topic(compression_type="lz4", message_timestamp_type="LogAppendTime")
    send_all(probe, topic, NONE)


@case()
def plain_compacted(probe: Probe) -> None:
    send_all(probe, probe.topic(cleanup_policy="compact"), NONE)


@case()
def gzip_compacted(probe: Probe) -> None:
    send_all(probe, probe.topic(cleanup_policy="compact"), GZIP)


@case()
def plain_to_gzip_compacted(probe: Probe) -> None:
    send_all(probe, probe.topic(cleanup_policy="compact", compression_type="gzip"), NONE)
