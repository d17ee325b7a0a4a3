"""Produce, as raw probes see it: the batches that a broker accepts, and those that it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.records.batch_builder import seal_batch
from protocol_specs.records.varints import encode_varint
from tests.differential.case import case
from tests.differential.requests import TIME_MS, batch, message_set, patched, produce, read_back, record, sealed

if TYPE_CHECKING:
    from tests.differential.probe import Probe


RECORD_BODIES = (
    (b"\0\0\0\1\1\0", "null key and value"),
    (b"\0\0\0\0\0\0", "empty key and value"),
    (b"\0\0\0\3\1\0", "key of -2 bytes"),
    (b"\0\0\0\1\3\0", "value of -2 bytes"),
    (b"\0\0\0\x7e\1\0", "key of 63 bytes"),
    (b"\0\0\0\1\x7e\0", "value of 63 bytes"),
    (b"\0\0\0\1\1\1", "-1 headers"),
    (b"\0\0\0\1\1\2", "a header that is not there"),
    (b"\0\0\0\1\1\2\1\1", "a header with a null key"),
    (b"\0\0\0\1\1\2\2a\1", "a header with a null value"),
    (b"\0\0\0\1\1\2\2a\3", "a header with a value of -2 bytes"),
    (b"\0\0\0\1\1\2\4\xc3\x28\1", "a header whose key is not UTF-8"),
    (b"\0\0\0\1\1\x7e", "63 headers that are not there"),
    (b"\xff\0\0\1\1\0", "attributes of 255"),
    (b"\0\0\0\1\1\0more", "bytes after the record"),
    (b"\0\0\0\1\1", "no count of headers"),
    (b"\0\0\0", "no key"),
)
"""What stands in a record behind its length: good ones and bad ones."""


def send(probe: Probe, topic: str, records: bytes, note: str, version: int = 9) -> None:
    """Produce and record the response."""
    probe.exchange(produce(topic, records), version, note=note)


@case()
def sizes_of_batches(probe: Probe) -> None:
    """The length field against the bytes that are there."""
    topic = probe.topic()
    good = batch(b"a", b"b")
    for length in (-1, 0, 13, 14, 48, 49, 50, len(good) - 13, len(good) - 11, 1_000_000, 2_147_483_647, -2_147_483_648):
        send(probe, topic, patched(good, 8, ">i", length), f"length {length - len(good) + 12:+}")
    read_back(probe, topic)


@case()
def bytes_that_are_no_batch(probe: Probe) -> None:
    topic = probe.topic()
    for data, note in (
        (b"", "nothing"),
        (b"\0", "one byte"),
        (bytes(11), "11 zeros"),
        (bytes(12), "12 zeros"),
        (bytes(17), "17 zeros"),
        (bytes(61), "61 zeros"),
        (bytes(100), "100 zeros"),
        (b"\xff" * 61, "61 ones"),
        (b"garbage!" * 20, "text"),
    ):
        send(probe, topic, data, note)
    read_back(probe, topic)


@case()
def truncated_batches(probe: Probe) -> None:
    topic = probe.topic()
    good = batch(b"a", b"b")
    for size in (1, 8, 11, 12, 16, 17, 21, 60, 61, 62, len(good) - 1):
        send(probe, topic, good[:size], f"{size - len(good)} bytes")
    read_back(probe, topic)


@case()
def bytes_after_the_batch(probe: Probe) -> None:
    topic = probe.topic()
    good = batch(b"a", b"b")
    for extra, note in (
        (b"x", "one byte"),
        (bytes(11), "11 zeros"),
        (bytes(12), "12 zeros"),
        (bytes(17), "17 zeros"),
        (b"\0" * 8 + b"\0\0\0\x20" + b"\0" * 4 + b"\2", "a header that begins"),
        (b"\xff" * 20, "ones"),
        (good[:-1], "a truncated batch"),
        (good[:61], "a header alone"),
        (good[:17], "a header up to magic"),
    ):
        send(probe, topic, good + extra, note)
    read_back(probe, topic)


@case()
def two_batches(probe: Probe) -> None:
    topic = probe.topic()
    send(probe, topic, batch(b"a") + batch(b"b"), "from offset 0 each")
    send(probe, topic, batch(b"a") + batch(b"b", base_offset=1), "offsets go on")
    send(probe, topic, batch(b"a") + patched(batch(b"b"), 20, ">b", 1), "the second has a wrong checksum")
    send(probe, topic, batch(b"a") + patched(batch(b"b"), 16, ">b", 1), "the second has magic 1")
    for version in (3, 7, 8):
        send(probe, topic, batch(b"a") + batch(b"b"), f"v{version}", version)
    read_back(probe, topic)


@case()
def magics(probe: Probe) -> None:
    topic = probe.topic()
    good = batch(b"a")
    for magic in (0, 1, 3, 127, -1, -128):
        for version in (3, 9):
            send(probe, topic, patched(good, 16, ">b", magic), f"magic {magic}", version)
    read_back(probe, topic)


@case()
def old_message_sets(probe: Probe) -> None:
    topic = probe.topic()
    for magic in (0, 1):
        for version in (3, 9):
            send(probe, topic, message_set(magic), f"magic {magic}", version)
    read_back(probe, topic)


@case()
def checksums(probe: Probe) -> None:
    topic = probe.topic()
    good = batch(b"a", b"b")
    for position in (17, 20, 21, 23, 30, 60, 61, len(good) - 1):
        send(probe, topic, patched(good, position, ">B", good[position] ^ 1), f"byte {position}")
    for version in (3, 7, 8):
        send(probe, topic, patched(good, 20, ">B", good[20] ^ 1), f"v{version}", version)
    read_back(probe, topic)


@case()
def fields_outside_of_the_checksum(probe: Probe) -> None:
    topic = probe.topic()
    good = batch(b"a", b"b")
    for offset in (1, -1, 100, 9_223_372_036_854_775_807, -9_223_372_036_854_775_808):
        send(probe, topic, patched(good, 0, ">q", offset), f"base offset {offset}")
    for epoch in (0, 1, 7, -2, 2_147_483_647):
        send(probe, topic, patched(good, 12, ">i", epoch), f"leader epoch {epoch}")
    read_back(probe, topic)


@case()
def attributes(probe: Probe) -> None:
    topic = probe.topic()
    one = record()
    for bits in (0x08, 0x10, 0x18, 0x20, 0x30, 0x40, 0x80, 0x100, 0x4000, -0x8000, -1):
        send(probe, topic, sealed(one, count=1, attributes=bits), f"attributes {bits:#x}")
    read_back(probe, topic)


@case()
def control_batches(probe: Probe) -> None:
    topic = probe.topic()
    marker = record(key=b"\0\0\0\1", value=b"\0\0\0\0\0\0")
    send(probe, topic, sealed(marker, count=1, attributes=0x20), "no producer")
    send(probe, topic, sealed(marker, count=1, attributes=0x30, producer_id=4_200, producer_epoch=0), "a producer")
    send(probe, topic, sealed(marker, count=1, attributes=0x20, producer_id=4_200, producer_epoch=0), "idempotent")
    send(probe, topic, sealed(record(), count=1, attributes=0x20), "another key", 3)
    read_back(probe, topic)


@case()
def counts(probe: Probe) -> None:
    topic = probe.topic()
    two = record(0) + record(1)
    for count, last in ((0, -1), (0, 0), (0, 1), (1, 0), (1, 1), (3, 2), (3, 1), (2, 2), (2, 0), (-1, 1), (100, 99)):
        batch_ = sealed(two, count=count, last_offset_delta=last)
        send(probe, topic, batch_, f"count {count}, last offset delta {last}")
    for count, last in ((2_147_483_647, 2_147_483_646), (-2_147_483_648, 1), (2, -1), (2, -2_147_483_648)):
        send(probe, topic, sealed(two, count=count, last_offset_delta=last), f"count {count}, last {last}")
    read_back(probe, topic)


@case()
def a_batch_of_no_records(probe: Probe) -> None:
    topic = probe.topic()
    for last in (-1, 0, 5):
        send(probe, topic, sealed(b"", count=0, last_offset_delta=last), f"last offset delta {last}")
        send(probe, topic, sealed(b"", count=1, last_offset_delta=last), f"one record, last offset delta {last}")
    send(
        probe,
        topic,
        sealed(b"", count=0, last_offset_delta=0, producer_id=4_300, producer_epoch=0, base_sequence=0),
        "id",
    )
    read_back(probe, topic)


@case()
def offset_deltas(probe: Probe) -> None:
    topic = probe.topic()
    for deltas in ((1, 2), (0, 0), (1, 0), (0, 2), (-1, 1), (0, 2_147_483_647), (5, 9), (-5, -4)):
        payload = b"".join(record(delta) for delta in deltas)
        send(probe, topic, sealed(payload, count=len(deltas), last_offset_delta=1), f"deltas {deltas}")
    send(probe, topic, sealed(record(3), count=1, last_offset_delta=3), "delta 3, last 3")
    read_back(probe, topic)


@case()
def records_that_are_malformed(probe: Probe) -> None:
    topic = probe.topic()
    good = record()
    for payload, note in (
        (good[:-1], "the last byte is missing"),
        (good + b"\0", "a byte after the record"),
        (good + good, "a second record"),
        (b"\0" + good[1:], "length 0"),
        (b"\1" + good[1:], "length -1"),
        (encode_varint(1_000) + good[1:], "length 1000"),
        (encode_varint(len(good)) + good[1:], "length one more"),
        (encode_varint(len(good) - 2) + good[1:], "length one less"),
        (b"\xff" * 5 + good[1:], "a length varint of 5 bytes"),
        (b"\xff" * 20, "ones"),
        (b"\x02\0", "length 1"),
    ):
        send(probe, topic, sealed(payload, count=1), note)
    read_back(probe, topic)


@case()
def fields_of_a_record(probe: Probe) -> None:
    topic = probe.topic()
    for body, note in RECORD_BODIES:
        send(probe, topic, sealed(encode_varint(len(body)) + body, count=1), note)
    read_back(probe, topic)


@case()
def records_are_not_looked_into_in_plain_batches_of_versions(probe: Probe) -> None:
    topic = probe.topic()
    for version in (3, 7, 8, 10):
        send(probe, topic, sealed(b"\xff" * 20, count=1), f"v{version}", version)
        send(probe, topic, sealed(record(5), count=1), f"v{version}, wrong delta", version)


@case()
def max_message_bytes(probe: Probe) -> None:
    topic = probe.topic(max_message_bytes="200")
    base = len(batch(b""))
    for size in (199, 200, 201, 202, 1_000):
        # A value above 63 bytes takes a longer varint, twice.
        value = b"x" * (size - base - 3)
        records = batch(value)
        send(probe, topic, records, f"{len(records)} bytes")
        send(probe, topic, records, f"{len(records)} bytes, v7", 7)
    read_back(probe, topic)


@case()
def the_broker_s_message_max_bytes(probe: Probe) -> None:
    topic = probe.topic()
    limit = 1_048_588
    overhead = len(batch(b"x" * 1_000_000)) - 1_000_000
    for size in (limit, limit + 1):
        probe.exchange(produce(topic, batch(b"x" * (size - overhead))), 9, note=f"{size} bytes")


@case()
def a_batch_larger_than_a_segment(probe: Probe) -> None:
    topic = probe.topic(segment_bytes="1048576", max_message_bytes="3000000")
    for size in (1_048_576, 1_048_577, 2_000_000, 1_000):
        overhead = len(batch(b"x" * size)) - size
        probe.exchange(produce(topic, batch(b"x" * (size - overhead))), 9, note=f"{size} bytes")


@case()
def compacted_topics(probe: Probe) -> None:
    topic = probe.topic(cleanup_policy="compact")
    send(probe, topic, batch(b"a"), "a key")
    send(probe, topic, batch(b"a", key=None), "no key")
    send(probe, topic, batch(b"a", key=b""), "an empty key")
    send(probe, topic, batch(None), "a tombstone")
    send(probe, topic, sealed(record(0) + record(1, key=None) + record(2), count=3), "the second has no key")
    send(probe, topic, sealed(record(0, key=None) + record(1, key=None), count=2), "none has a key")
    for version in (3, 7, 8):
        send(probe, topic, batch(b"a", key=None), f"no key, v{version}", version)
    read_back(probe, topic)


@case()
def compacted_and_deleted_topics(probe: Probe) -> None:
    topic = probe.topic(cleanup_policy="compact,delete")
    send(probe, topic, batch(b"a", key=None), "no key")
    send(probe, topic, batch(*[b"a"] * 200, key=None), "200 records without a key")


@case()
def keys_and_values_of_all_kinds(probe: Probe) -> None:
    topic = probe.topic()
    send(probe, topic, batch(None, b"", b"x" * 200, key=None), "values")
    send(probe, topic, batch(b"v", key=b""), "empty key")
    headers = [("", None), ("a", b""), ("a", b"again"), ("ä", b"x" * 100)]
    send(probe, topic, sealed(record(headers=headers), count=1), "headers")
    read_back(probe, topic)


@case()
def a_batch_from_the_wire_in_full(probe: Probe) -> None:
    """Every field of the header is kept, but those that a leader writes."""
    topic = probe.topic()
    data = seal_batch(
        record(0) + record(1),
        base_offset=0,
        partition_leader_epoch=77,
        attributes=0,
        last_offset_delta=1,
        base_timestamp=TIME_MS,
        max_timestamp=TIME_MS,
        producer_id=-1,
        producer_epoch=5,
        base_sequence=9,
        records_count=2,
    )
    send(probe, topic, data, "no producer id, but an epoch and a sequence")
    read_back(probe, topic)
