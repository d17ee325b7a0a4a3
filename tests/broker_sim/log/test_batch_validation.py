from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.config.topic_config import TopicConfig
from broker_sim.log.append_results import RecordsRefused
from broker_sim.log.replica_log import ReplicaLog
from protocol_specs.error_codes import ErrorCode
from protocol_specs.records.batch_peek import BatchHeader
from protocol_specs.records.checksums import crc32c
from protocol_specs.records.compression import CompressionCodec, compress
from protocol_specs.records.record_batch import RecordBatchBuilder, peek_header, read_records
from protocol_specs.records.varints import encode_varint, encode_varlong

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.log.stored_batch import StoredBatch

NOW_MS = 1_767_225_600_000
HOUR_MS = 3_600_000


def validate(records: bytes | memoryview, *, release: str = "4.3.1", **topic: str) -> StoredBatch:
    stored = validate_any(records, release=release, **topic)
    assert stored is not None
    return stored


def validate_any(records: bytes | memoryview, *, release: str = "4.3.1", **topic: str) -> StoredBatch | None:
    overrides = {name.replace("_", "."): value for name, value in topic.items()}
    broker_config = BrokerConfig.parse({}, release=release)
    config = TopicConfig.resolve(overrides, broker_config)
    log = ReplicaLog(topic="orders", partition=0, config=config, broker_config=broker_config, now_ms=NOW_MS)
    log.log_end_offset = 100
    info = log.append_as_leader(records, leader_epoch=7, now_ms=NOW_MS)
    return info.batches[0] if info.batches else None


def refusal(records: bytes | memoryview, *, release: str = "4.3.1", **topic: str) -> RecordsRefused:
    with pytest.raises(RecordsRefused) as caught:
        validate_any(records, release=release, **topic)
    return caught.value


def batch(
    count: int = 3,
    *,
    codec: CompressionCodec = CompressionCodec.NONE,
    timestamps: Sequence[int] | None = None,
    keys: Sequence[bytes | None] | None = None,
    size: int = 1,
) -> bytes:
    builder = RecordBatchBuilder(codec=codec)
    for index in range(count):
        key = keys[index] if keys is not None else None
        builder.append(NOW_MS if timestamps is None else timestamps[index], key, b"v" * size)
    return builder.build()


def sealed(records: bytes, **fields: int) -> bytes:
    """The batch with other header fields and a checksum that fits."""
    header = peek_header(records)
    for name, value in fields.items():
        setattr(header, name, value)
    packed = bytearray(header.pack())
    packed[17:21] = crc32c(bytes(packed[21:]) + records[61:]).to_bytes(4, "big")
    return bytes(packed) + records[61:]


def of_section(section: bytes, count: int = 1, codec: CompressionCodec = CompressionCodec.NONE) -> bytes:
    data = compress(codec, section)
    header = BatchHeader(0, 49 + len(data), -1, 2, 0, int(codec), count - 1, NOW_MS, NOW_MS, -1, -1, -1, count)
    return sealed(header.pack() + data)


def record(
    *, timestamp_delta: int = 0, offset_delta: int = 0, length: int | None = None, headers: int = 0, value_size: int = 1
) -> bytes:
    body = b"\0" + encode_varlong(timestamp_delta) + encode_varint(offset_delta) + encode_varint(-1)
    body += encode_varint(value_size) + b"v" + encode_varint(headers)
    return encode_varint(len(body) if length is None else length) + body


# The frame


@pytest.mark.parametrize(
    ("records", "error_code", "known"),
    [
        (batch()[:8] + struct.pack(">i", 13) + batch()[12:], ErrorCode.CORRUPT_MESSAGE, False),
        (batch()[:8] + struct.pack(">i", -1) + batch()[12:], ErrorCode.CORRUPT_MESSAGE, False),
        (batch()[:8] + struct.pack(">i", 14) + batch()[12:26], ErrorCode.UNKNOWN_SERVER_ERROR, True),
        (batch()[:8] + struct.pack(">i", 15) + batch()[12:27], ErrorCode.CORRUPT_MESSAGE, False),
        (batch()[:8] + struct.pack(">i", 48) + batch()[12:60], ErrorCode.CORRUPT_MESSAGE, False),
        (batch()[:16] + b"\x03" + batch()[17:], ErrorCode.CORRUPT_MESSAGE, False),
        (batch()[:-1] + b"?", ErrorCode.CORRUPT_MESSAGE, False),
        (sealed(batch(), base_offset=5), ErrorCode.INVALID_RECORD, True),
        (sealed(batch(), base_offset=5)[:-1] + b"?", ErrorCode.INVALID_RECORD, True),
        (sealed(batch(), attributes=5), ErrorCode.UNKNOWN_SERVER_ERROR, True),
    ],
)
def test_bad_frame_is_refused_as_kafka_does(records: bytes, error_code: ErrorCode, known: bool) -> None:
    error = refusal(records)
    assert (error.error_code, error.log_start_offset_known, error.message) == (error_code, known, None)


@pytest.mark.parametrize("records", [b"", batch()[:60], batch()[:-1]])
def test_set_without_a_whole_batch_stores_nothing(records: bytes) -> None:
    assert validate_any(records) is None


def test_bytes_after_the_batch_are_dropped() -> None:
    assert validate(batch() + b"xyz").data[16:] == batch()[16:]


def test_size_is_checked_before_the_checksum() -> None:
    error = refusal(batch(size=200)[:-1] + b"?", max_message_bytes="300")
    assert (error.error_code, error.log_start_offset_known) == (ErrorCode.MESSAGE_TOO_LARGE, False)


# The header


@pytest.mark.parametrize(
    "fields",
    [
        {"last_offset_delta": -1},
        {"last_offset_delta": 1},
        {"last_offset_delta": 3},
        {"records_count": 0},
        {"records_count": -1},
        {"records_count": 4, "last_offset_delta": 3},
        {"records_count": 2, "last_offset_delta": 1},
        {"attributes": 0x20},
        {"producer_id": 7},
        {"producer_id": 7, "producer_epoch": 0, "base_sequence": -5},
    ],
)
@pytest.mark.parametrize("codec", [CompressionCodec.NONE, CompressionCodec.GZIP])
def test_bad_header_is_an_invalid_record(fields: dict[str, int], codec: CompressionCodec) -> None:
    attributes = fields.get("attributes", 0) | int(codec)
    error = refusal(sealed(batch(codec=codec), **{**fields, "attributes": attributes}))
    assert (error.error_code, error.message, error.log_start_offset_known) == (ErrorCode.INVALID_RECORD, None, True)


@pytest.mark.parametrize("attributes", [0x40, 0x80, 0x7F00])
def test_unknown_attribute_bits_are_kept(attributes: int) -> None:
    assert peek_header(validate(sealed(batch(), attributes=attributes)).data).attributes == attributes


def test_wrong_max_timestamp_is_written_anew() -> None:
    stored = validate(sealed(batch(), max_timestamp=5))
    header = peek_header(stored.data)
    assert (header.max_timestamp, stored.max_timestamp) == (NOW_MS, NOW_MS)
    assert header.crc == crc32c(stored.data[21:])


# The records


@pytest.mark.parametrize(
    ("section", "uncompressed", "compressed"),
    [
        (record(), None, None),
        (record(length=8), ErrorCode.INVALID_RECORD, None),
        (record(length=0), ErrorCode.INVALID_RECORD, None),
        (record(length=-3), ErrorCode.INVALID_RECORD, None),
        (record(length=10**6), ErrorCode.INVALID_RECORD, None),
        (b"\x80" * 9 + record(), ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.INVALID_RECORD),
        (record(value_size=1000), ErrorCode.INVALID_RECORD, ErrorCode.INVALID_RECORD),
        (record(headers=-1), ErrorCode.INVALID_RECORD, ErrorCode.INVALID_RECORD),
        (record(headers=5), ErrorCode.INVALID_RECORD, ErrorCode.INVALID_RECORD),
        (record(offset_delta=5), None, ErrorCode.UNKNOWN_SERVER_ERROR),
        (b"", ErrorCode.INVALID_RECORD, ErrorCode.INVALID_RECORD),
        (record() + b"?", ErrorCode.INVALID_RECORD, ErrorCode.INVALID_RECORD),
    ],
)
def test_malformed_records_are_refused_as_kafka_does(
    section: bytes, uncompressed: ErrorCode | None, compressed: ErrorCode | None
) -> None:
    for codec, expected in ((CompressionCodec.NONE, uncompressed), (CompressionCodec.GZIP, compressed)):
        records = of_section(section, codec=codec)
        if expected is None:
            assert validate(records).records_count == 1
        else:
            error = refusal(records)
            assert (error.error_code, error.log_start_offset_known) == (expected, True)


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_garbage_instead_of_compressed_records_is_an_unknown_error(codec: int) -> None:
    assert refusal(sealed(batch(), attributes=codec)).error_code is ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(("codec", "error_code"), [(1, -1), (2, -1), (3, -1), (4, ErrorCode.INVALID_RECORD)])
def test_nothing_instead_of_compressed_records_depends_on_the_codec(codec: int, error_code: int) -> None:
    header = peek_header(batch())
    header.attributes, header.batch_length = codec, 49
    assert refusal(sealed(header.pack())).error_code == error_code


@pytest.mark.parametrize("codec", list(CompressionCodec))
def test_batches_of_every_codec_are_stored_as_they_came(codec: CompressionCodec) -> None:
    sent = batch(50, codec=codec, size=40)
    assert validate(sent).data[16:] == sent[16:]


# Large batches


def of_request(sent: bytes, *, before: bytes = b"before") -> memoryview:
    """A batch within the request that brought it."""
    return memoryview(before + sent + b"\0\0\0")[len(before) : -3]


@pytest.mark.parametrize("cut", [-101, -1, 1, 3])
def test_records_of_a_large_batch_that_do_not_end_with_it_are_refused(cut: int) -> None:
    section = batch(300, size=100)[61:]
    wrong = section + bytes(cut) if cut > 0 else section[:cut]
    assert refusal(of_request(of_section(wrong, 300))).error_code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("size", [1, 100])
def test_a_fragment_of_a_batch_is_its_beginning(size: int) -> None:
    stored = validate(of_request(batch(300, size=size)))
    fragment = stored.fragment(70)
    assert (fragment.data, fragment.size, fragment.last_offset) == (stored.data[:70], 70, 399)


# Timestamps and keys


def test_each_record_too_far_in_the_future_is_named() -> None:
    records = batch(timestamps=[NOW_MS + 2 * HOUR_MS, NOW_MS, NOW_MS + 3 * HOUR_MS])
    error = refusal(records)
    assert error.error_code is ErrorCode.INVALID_TIMESTAMP
    assert error.message == "One or more records have been rejected due to invalid timestamp"
    assert [problem.batch_index for problem in error.record_errors] == [0, 2]
    assert error.record_errors[1].message == (
        f"Timestamp {NOW_MS + 3 * HOUR_MS} of message with offset 2 is out of range. The timestamp should be within "
        f"[{NOW_MS - (2**63 - 1)}, {NOW_MS + HOUR_MS}]"
    )


def test_future_timestamps_are_accepted_by_3_7() -> None:
    assert validate(batch(timestamps=[NOW_MS + 99 * HOUR_MS] * 3), release="3.7.2").records_count == 3


def test_timestamps_before_the_allowed_past_are_refused_but_none_is_allowed() -> None:
    error = refusal(batch(timestamps=[NOW_MS - 5, NOW_MS, -1]), message_timestamp_before_max_ms="4")
    assert [problem.batch_index for problem in error.record_errors] == [0]
    assert validate(batch(timestamps=[-1, -1, -1]), message_timestamp_before_max_ms="4").max_timestamp == -1


@pytest.mark.parametrize("codec", [CompressionCodec.NONE, CompressionCodec.GZIP])
def test_timestamps_beyond_int64_wrap(codec: CompressionCodec) -> None:
    unsealed = batch(timestamps=[NOW_MS, NOW_MS + 5, NOW_MS - 5], codec=codec)
    records = sealed(unsealed, base_timestamp=2**63 - 1)
    stored = validate(records, message_timestamp_after_max_ms=str(2**63 - 1))
    assert stored.max_timestamp == 2**63 - 1


@pytest.mark.parametrize("timestamp", [-(2**63), 2**63 - 1])
def test_timestamps_that_overflow_javas_arithmetic_are_refused(timestamp: int) -> None:
    error = refusal(sealed(batch(), base_timestamp=timestamp))
    assert (error.error_code, len(error.record_errors)) == (ErrorCode.INVALID_TIMESTAMP, 3)


def test_producer_may_not_set_log_append_time_on_such_a_topic() -> None:
    error = refusal(sealed(batch(1), attributes=8), message_timestamp_type="LogAppendTime")
    assert error.error_code is ErrorCode.INVALID_TIMESTAMP
    assert error.record_errors[0].message == (
        f"Invalid timestamp type in message DefaultRecord(offset=0, timestamp={NOW_MS}, key=0 bytes, value=1 bytes). "
        "Producer should not set timestamp type to LogAppendTime."
    )


def test_log_append_time_bit_is_taken_away_on_a_create_time_topic() -> None:
    header = peek_header(validate(sealed(batch(1), attributes=8)).data)
    assert (header.attributes, header.max_timestamp) == (0, NOW_MS)


def test_compacted_topic_names_the_records_without_a_key() -> None:
    error = refusal(batch(5, keys=[None, b"k", None, None, None]), cleanup_policy="compact")
    text = "Compacted topic cannot accept message without key in topic partition orders-0"
    assert error.error_code is ErrorCode.INVALID_RECORD
    assert [(problem.batch_index, problem.message) for problem in error.record_errors] == [
        (index, text) for index in (0, 2, 3, 4)
    ]
    shown = ", ".join(f"RecordError(batchIndex={index}, message='{text}')" for index in (0, 2, 3))
    assert error.message == (
        "One or more records have been rejected due to 4 record errors in total, "
        f"and only showing the first three errors at most: [{shown}]"
    )


def test_compacted_topic_takes_empty_keys() -> None:
    assert validate(batch(1, keys=[b""]), cleanup_policy="compact").records_count == 1


# Compression of the topic


@pytest.mark.parametrize("source", list(CompressionCodec))
@pytest.mark.parametrize("target", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_topic_stores_its_own_codec(source: CompressionCodec, target: str) -> None:
    stored = validate(batch(20, codec=source, size=30), compression_type=target)
    header = peek_header(stored.data)
    expected = CompressionCodec.NONE if target == "uncompressed" else CompressionCodec.for_name(target)
    assert header.codec is expected
    assert (header.base_offset, header.partition_leader_epoch, header.records_count) == (100, 7, 20)
    assert header.crc == crc32c(stored.data[21:])
    assert [record.offset for record in read_records(stored.data)] == list(range(100, 120))


def test_recompression_keeps_the_producers_state() -> None:
    builder = RecordBatchBuilder(producer_id=3, producer_epoch=1, base_sequence=7)
    builder.append(NOW_MS, b"k", b"v", [("h", b"1"), ("n", None)])
    stored = validate(builder.build(), compression_type="gzip")
    assert (stored.producer_id, stored.producer_epoch, stored.base_sequence) == (3, 1, 7)
    assert read_records(stored.data)[0].headers == (("h", b"1"), ("n", None))


def test_recompressed_size_is_checked_too() -> None:
    records = batch(1, size=40, codec=CompressionCodec.GZIP)
    assert validate(records, max_message_bytes="100").size < 100
    error = refusal(records, max_message_bytes="100", compression_type="uncompressed")
    assert (error.error_code, error.log_start_offset_known) == (ErrorCode.MESSAGE_TOO_LARGE, False)


def test_endless_record_length_is_an_unknown_error_on_the_way_to_another_codec() -> None:
    records = of_section(b"\xff" * 20)
    assert refusal(records, compression_type="gzip").error_code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_recompression_refuses_negative_timestamps() -> None:
    error = refusal(batch(timestamps=[-5, -5, -5]), compression_type="gzip")
    assert error.error_code is ErrorCode.UNKNOWN_SERVER_ERROR
