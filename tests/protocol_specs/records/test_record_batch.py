from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path
from typing import Any

import aiokafka.record.default_records as aiokafka_records
import kafka.record.default_records as kafka_python_records
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.errors import (
    ChecksumMismatch,
    CorruptRecordBatch,
    DecompressionLimitExceeded,
    InvalidRecord,
    TruncatedRecordBatch,
    UnknownCodec,
    UnsupportedMagic,
)
from protocol_specs.fuzzing.strategies import BASE_TIMESTAMP, codecs, record_batches, records
from protocol_specs.records.batch_builder import MAX_RECORD_OVERHEAD
from protocol_specs.records.record_batch import (
    RECORD_BATCH_OVERHEAD,
    BatchHeader,
    CompressionCodec,
    Record,
    RecordBatchBuilder,
    TimestampType,
    check_batch,
    decrement_sequence,
    empty_batch,
    encode_record_body,
    estimate_size_in_bytes_upper_bound,
    increment_sequence,
    iterate_batches,
    peek_header,
    read_record_set,
    read_records,
    record_size_upper_bound,
    seal_batch,
    with_offset_and_epoch,
    with_producer_state,
)

VECTORS = [
    json.loads(line)
    for line in gzip.decompress(
        (Path(__file__).parents[2] / "data" / "record_batches.jsonl.gz").read_bytes()
    ).splitlines()
]


def one_batch(value: bytes | None = b"value", **options: Any) -> bytes:
    builder = RecordBatchBuilder(**options)
    builder.append(BASE_TIMESTAMP, b"key", value)
    return builder.build()


def resealed(batch: bytes, **changes: int) -> bytes:
    header = peek_header(batch)
    fields = {
        name: getattr(header, name) for name in BatchHeader.__slots__ if name not in ("batch_length", "magic", "crc")
    }
    return seal_batch(batch[RECORD_BATCH_OVERHEAD:], **(fields | changes))


# Against the bytes of Kafka


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["case"])
def test_batches_of_kafka_are_read(vector: dict[str, Any]) -> None:
    found = list(iterate_batches(bytes.fromhex(vector["hex"])))
    assert len(found) == len(vector["batches"])
    for (header, batch), expected in zip(found, vector["batches"], strict=True):
        assert check_batch(batch) == header
        assert header.codec.type_name == expected["compression"]
        assert header.base_offset == expected["base_offset"]
        assert header.last_offset == header.next_offset - 1 == expected["last_offset"]
        assert header.size_in_bytes == len(batch) == expected["size"]
        assert (header.timestamp_type is TimestampType.CREATE_TIME) == (expected["timestamp_type"] == "CreateTime")
        assert header.max_timestamp == expected["max_timestamp"]
        assert header.partition_leader_epoch == expected["partition_leader_epoch"]
        assert header.producer_id == expected["producer_id"]
        assert header.producer_epoch == expected["producer_epoch"]
        assert header.base_sequence == expected["base_sequence"]
        assert header.last_sequence == expected["last_sequence"]
        assert header.is_transactional == expected["transactional"]
        assert header.is_control == expected["control"]
        assert header.records_count == expected["count"]
        assert header.crc == expected["crc"]
        assert header.pack() == bytes(batch[:RECORD_BATCH_OVERHEAD])
        assert [as_vector(record) for record in read_records(batch)] == [
            {name: value for name, value in record.items() if name != "sequence"} for record in expected["records"]
        ]


def as_vector(record: Record) -> dict[str, Any]:
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": None if record.key is None else record.key.hex(),
        "value": None if record.value is None else record.value.hex(),
        "headers": [[name, None if value is None else value.hex()] for name, value in record.headers],
    }


UNCOMPRESSED = [vector for vector in VECTORS if all(b["compression"] == "none" for b in vector["batches"])]


@pytest.mark.parametrize("vector", UNCOMPRESSED, ids=lambda vector: vector["case"])
def test_uncompressed_batches_of_kafka_are_written_byte_for_byte(vector: dict[str, Any]) -> None:
    (header, batch), *_ = iterate_batches(bytes.fromhex(vector["hex"]))
    if not header.records_count:
        assert empty_batch(header) == bytes(batch)
        return
    builder = RecordBatchBuilder(
        timestamp_type=header.timestamp_type,
        log_append_time=header.max_timestamp,
        base_offset=header.base_offset,
        partition_leader_epoch=header.partition_leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        is_control=header.is_control,
    )
    # Under log append time Kafka still writes the deltas of the producer's timestamps, which a reader does not show.
    create_time = with_offset_and_epoch(batch, header.base_offset, 0, timestamp_type=TimestampType.CREATE_TIME)
    for record in read_records(create_time):
        builder.append_with_offset(record.offset, record.timestamp, record.key, record.value, record.headers)
    assert builder.build() == bytes(batch)
    assert builder.size_in_bytes == len(batch)


# Writing and reading


@given(record_batches())
def test_what_is_built_is_read_back(drawn: tuple[bytes, list[Record]]) -> None:
    batch, expected = drawn
    assert read_records(batch) == expected
    assert read_records(memoryview(batch)) == expected
    header = check_batch(batch)
    assert header.records_count == len(expected)
    assert header.last_offset == expected[-1].offset


@given(codecs(), records(max_size=8))
def test_aiokafka_and_kafka_python_read_what_is_built(codec: CompressionCodec, drawn: list[Record]) -> None:
    builder = RecordBatchBuilder(codec=codec, producer_id=7, producer_epoch=1, base_sequence=3)
    for record in drawn:
        builder.append(record.timestamp, record.key, record.value, record.headers)
    batch = builder.build()
    for module in (kafka_python_records, aiokafka_records):
        theirs = module.DefaultRecordBatch(bytearray(batch))
        assert theirs.validate_crc()
        assert [(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in theirs] == [
            (r.offset, r.timestamp, r.key, r.value, r.headers) for r in drawn
        ]


@given(codecs(), records(max_size=8), st.booleans())
def test_what_aiokafka_and_kafka_python_build_is_read(
    codec: CompressionCodec, drawn: list[Record], is_transactional: bool
) -> None:
    for module in (kafka_python_records, aiokafka_records):
        builder = module.DefaultRecordBatchBuilder(
            magic=2,
            compression_type=int(codec),
            is_transactional=is_transactional,
            producer_id=9,
            producer_epoch=2,
            base_sequence=5,
            batch_size=10_000_000,
        )
        for record in drawn:
            headers = list(record.headers)
            builder.append(record.offset, record.timestamp, record.key, record.value, headers)
        batch = bytes(builder.build())
        header = check_batch(batch)
        assert header.is_transactional == is_transactional
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 2, 5)
        assert read_records(batch) == drawn


def test_an_unbroken_batch_is_the_same_bytes_as_that_of_kafka_python() -> None:
    ours = RecordBatchBuilder()
    theirs = kafka_python_records.DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=10_000_000,
    )
    for index in range(200):
        ours.append(BASE_TIMESTAMP + index * 3, b"k%d" % index, bytes(index), [("h", None)] * (index % 3))
        theirs.append(index, BASE_TIMESTAMP + index * 3, b"k%d" % index, bytes(index), [("h", None)] * (index % 3))
    built = ours.build()
    expected = bytearray(theirs.build())
    expected[12:16] = b"\xff\xff\xff\xff"  # it writes leader epoch 0, Kafka's clients write -1
    assert built == bytes(expected)


@given(records())
def test_the_builder_knows_its_size_and_bounds_it(drawn: list[Record]) -> None:
    builder = RecordBatchBuilder()
    total = RECORD_BATCH_OVERHEAD
    for record in drawn:
        size = builder.append(record.timestamp, record.key, record.value, record.headers)
        total += size
        assert builder.size_in_bytes == total
        assert size <= record_size_upper_bound(record.key, record.value, record.headers)
    assert len(builder.build()) == total
    assert builder.records_count == len(drawn)
    assert builder.max_timestamp == max(record.timestamp for record in drawn)


def test_the_upper_bound_is_kafkas() -> None:
    assert MAX_RECORD_OVERHEAD == 21
    assert record_size_upper_bound(None, b"") == 21 + 1 + 1 + 1
    assert estimate_size_in_bytes_upper_bound(b"k", b"v" * 100, [("h", b"x")]) == 61 + 21 + 2 + 102 + 1 + 2 + 2


def test_a_builder_learns_its_producer_late_and_builds_twice() -> None:
    builder = RecordBatchBuilder()
    builder.append(BASE_TIMESTAMP, None, b"a")
    first = builder.build()
    builder.producer_id, builder.producer_epoch, builder.base_sequence = 5, 1, 40
    builder.is_transactional = True
    second = builder.build()
    assert first != second
    expected = with_producer_state(first, producer_id=5, producer_epoch=1, base_sequence=40, is_transactional=True)
    assert second == expected
    back = with_producer_state(second, producer_id=-1, producer_epoch=-1, base_sequence=-1, is_transactional=False)
    assert back == first


def test_large_values_and_many_records_leave_the_tables() -> None:
    builder = RecordBatchBuilder()
    for index in range(9000):
        builder.append(BASE_TIMESTAMP + index, None, b"" if index else bytes(200_000))
    found = read_records(builder.build())
    assert [record.offset for record in found] == list(range(9000))
    assert len(found[0].value or b"") == 200_000
    assert found[-1].timestamp == BASE_TIMESTAMP + 8999


def test_gaps_between_offsets_are_kept() -> None:
    builder = RecordBatchBuilder(base_offset=100)
    builder.append_with_offset(105, BASE_TIMESTAMP, b"a", None)
    builder.append_with_offset(120, BASE_TIMESTAMP - 5, None, b"b", [("h", b"")])
    assert builder.append(BASE_TIMESTAMP, None, b"c") > 0
    batch = builder.build()
    assert [record.offset for record in read_records(batch)] == [105, 120, 121]
    assert peek_header(batch).last_offset == 121
    with pytest.raises(ValueError, match="offset 121 is not after the batch's last, 121"):
        builder.append_with_offset(121, BASE_TIMESTAMP, None, None)


def test_a_batch_without_records_is_not_built() -> None:
    with pytest.raises(ValueError, match="a batch needs a record"):
        RecordBatchBuilder().build()


def test_numbers_too_wide_for_their_fields_are_refused() -> None:
    builder = RecordBatchBuilder()
    builder.append(0, None, b"")
    with pytest.raises(ValueError, match="int64"):
        builder.append(1 << 63, None, b"")
    builder.producer_id = 1 << 63
    with pytest.raises(struct.error):
        builder.build()


def test_log_append_time_counts_for_every_record() -> None:
    batch = one_batch(timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=BASE_TIMESTAMP + 77)
    assert peek_header(batch).max_timestamp == BASE_TIMESTAMP + 77
    assert [record.timestamp for record in read_records(batch)] == [BASE_TIMESTAMP + 77]


def test_an_illegal_header_key_is_read_with_replacements() -> None:
    body = encode_record_body(0, 0, None, b"v", [("?", b"x")]).replace(b"?", b"\xff")
    batch = resealed(one_batch())[:RECORD_BATCH_OVERHEAD] + bytes((2 * len(body),)) + body
    batch = batch[:8] + struct.pack(">i", len(batch) - 12) + batch[12:]
    assert read_records(batch)[0].headers == (("�", b"x"),)


# Fields that a leader sets


@given(record_batches(), st.integers(0, 2**50), st.integers(0, 2**31 - 1))
def test_offset_and_epoch_are_outside_of_the_checksum(
    drawn: tuple[bytes, list[Record]], offset: int, epoch: int
) -> None:
    batch, expected = drawn
    moved = with_offset_and_epoch(memoryview(batch), offset, epoch)
    header = check_batch(moved)
    assert (header.base_offset, header.partition_leader_epoch) == (offset, epoch)
    assert header.crc == peek_header(batch).crc
    assert moved[17:] == batch[17:]
    assert [record.offset - offset for record in read_records(moved)] == [
        record.offset - expected[0].offset for record in expected
    ]


def test_a_new_max_timestamp_gets_a_new_checksum() -> None:
    batch = one_batch(codec=CompressionCodec.GZIP)
    stamped = with_offset_and_epoch(batch, 0, 0, max_timestamp=5, timestamp_type=TimestampType.LOG_APPEND_TIME)
    header = check_batch(stamped)
    assert header.max_timestamp == 5
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert header.codec is CompressionCodec.GZIP
    assert [record.timestamp for record in read_records(stamped)] == [5]


def test_unknown_attribute_bits_go_when_the_timestamp_changes_and_stay_otherwise() -> None:
    batch = resealed(one_batch(), attributes=0x0180 | 0x50)
    assert check_batch(with_offset_and_epoch(batch, 3, 3)).attributes == 0x01D0
    assert check_batch(with_offset_and_epoch(batch, 3, 3, max_timestamp=9)).attributes == 0x0050


def test_what_follows_the_batch_is_left_behind() -> None:
    batch = one_batch()
    assert len(with_offset_and_epoch(batch + b"rest", 1, 1)) == len(batch)
    with pytest.raises(TruncatedRecordBatch):
        with_offset_and_epoch(batch[:-1], 1, 1)


# Headers and record sets


def test_flags_of_a_header() -> None:
    header = peek_header(resealed(one_batch(), attributes=0x70 | 4))
    assert header.is_transactional
    assert header.is_control
    assert header.is_compressed
    assert header.codec is CompressionCodec.ZSTD
    assert header.delete_horizon_ms == BASE_TIMESTAMP
    plain = peek_header(one_batch())
    assert plain.delete_horizon_ms is None
    assert [plain.is_transactional, plain.is_control, plain.is_compressed, plain.has_producer_id] == [False] * 4
    with pytest.raises(UnknownCodec):
        _ = peek_header(resealed(one_batch(), attributes=5)).codec


def test_sequences_wrap_to_zero() -> None:
    assert increment_sequence(2**31 - 1, 1) == 0
    assert increment_sequence(2**31 - 2, 5) == 3
    assert increment_sequence(4, 5) == 9
    assert decrement_sequence(0, 1) == 2**31 - 1
    assert decrement_sequence(9, 5) == 4
    header = peek_header(resealed(one_batch(), base_sequence=2**31 - 1, last_offset_delta=2))
    assert header.last_sequence == 1


def test_a_truncated_batch_at_the_end_is_left_out() -> None:
    one, two = one_batch(b"1"), one_batch(b"2")
    for cut in range(len(two)):
        assert [bytes(batch) for _, batch in iterate_batches(one + two[:cut])] == [one]
    both = one + two
    assert [record.value for record in read_record_set(memoryview(both))] == [b"1", b"2"]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ((8, struct.pack(">i", 13)), CorruptRecordBatch),
        ((8, struct.pack(">i", -1)), CorruptRecordBatch),
        ((8, struct.pack(">i", 48)), CorruptRecordBatch),
        ((16, b"\x03"), CorruptRecordBatch),
        ((16, b"\xff"), CorruptRecordBatch),
        ((16, b"\x01"), UnsupportedMagic),
    ],
)
def test_record_sets_with_impossible_headers_are_refused(
    change: tuple[int, bytes], error: type[CorruptRecordBatch]
) -> None:
    at, data = change
    batch = bytearray(one_batch())
    batch[at : at + len(data)] = data
    with pytest.raises(error):
        list(iterate_batches(bytes(batch)))
    with pytest.raises((error, UnsupportedMagic, ChecksumMismatch)):
        check_batch(bytes(batch))


def test_every_changed_byte_under_the_checksum_is_seen() -> None:
    batch = one_batch()
    for at in range(17, len(batch)):
        broken = bytearray(batch)
        broken[at] ^= 0x40
        with pytest.raises(ChecksumMismatch):
            check_batch(bytes(broken))


def test_errors_of_short_buffers_have_the_missing_size() -> None:
    batch = one_batch()
    with pytest.raises(TruncatedRecordBatch, match="needs 61 bytes, 60 bytes left"):
        peek_header(batch[:60])
    with pytest.raises(TruncatedRecordBatch, match=f"needs {len(batch)} bytes, {len(batch) - 1} bytes left"):
        check_batch(batch[:-1])
    with pytest.raises(TruncatedRecordBatch, match="0 bytes left"):
        peek_header(b"", 0)
    with pytest.raises(UnsupportedMagic):
        peek_header(bytes(16) + b"\x01")
    with pytest.raises(CorruptRecordBatch, match="of 60 bytes"):
        check_batch(batch[:8] + struct.pack(">i", 48) + batch[12:])


# Records that do not fit


@pytest.mark.parametrize(
    ("count", "words"), [(2, "ends after 0 bytes"), (-1, "record count -1 is negative"), (2**31 - 1, "record 1")]
)
def test_counts_that_do_not_fit_are_refused(count: int, words: str) -> None:
    with pytest.raises(InvalidRecord, match=words):
        read_records(resealed(one_batch(), records_count=count))


def test_a_count_of_zero_reads_nothing() -> None:
    assert read_records(resealed(one_batch(), records_count=0)) == []


def test_bytes_after_the_last_record_are_refused() -> None:
    batch = one_batch() + b"\x00\x00"
    header = peek_header(batch)
    header.batch_length += 2
    with pytest.raises(InvalidRecord, match="2 bytes after the last record"):
        read_records(header.pack() + batch[RECORD_BATCH_OVERHEAD:])


def test_decompression_is_bounded_when_records_are_read() -> None:
    batch = one_batch(bytes(100_000), codec=CompressionCodec.GZIP)
    with pytest.raises(DecompressionLimitExceeded):
        read_records(batch, limit_bytes=1000)


def test_deltas_that_leave_int64_wrap_as_in_java() -> None:
    body = encode_record_body(2**63 - 1, 2**31 - 1, None, b"v")
    section = bytes((2 * len(body),)) + body
    batch = seal_batch(
        section,
        base_offset=2**63 - 1,
        partition_leader_epoch=0,
        attributes=0,
        last_offset_delta=0,
        base_timestamp=1,
        max_timestamp=1,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        records_count=1,
    )
    record = read_records(batch)[0]
    assert record.timestamp == -(2**63)
    assert record.offset == 2**31 - 1 + 2**63 - 1 - 2**64
