from __future__ import annotations

import pytest

from broker_sim.apis.produce_validation import (
    is_plain_batch,
    partition_error,
    producer_ids_readable,
    transactional_batch,
    whole_request_error,
)
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.records.batch_builder import RecordBatchBuilder
from protocol_specs.records.compression import CompressionCodec

CORRUPT = ErrorCode.CORRUPT_MESSAGE
INVALID = ErrorCode.INVALID_RECORD


def batch(**options: object) -> bytes:
    builder = RecordBatchBuilder(**options)  # type: ignore[arg-type]
    builder.append(1_700_000_000_000, b"k", b"v")
    return builder.build()


def with_length(length: int, records: bytes = b"") -> bytes:
    records = records or batch()
    return records[:8] + length.to_bytes(4, "big", signed=True) + records[12:]


def request(*record_sets: bytes | None, transactional_id: str | None = None) -> ProduceRequest:
    partitions = [PartitionProduceData(index=index, records=records) for index, records in enumerate(record_sets)]
    return ProduceRequest(
        transactional_id=transactional_id, topic_data=[TopicProduceData(name="t", partition_data=partitions)]
    )


@pytest.mark.parametrize(
    ("records", "error"),
    [
        (batch(), ErrorCode.NONE),
        (None, ErrorCode.NONE),
        (b"", INVALID),
        (b"only 9 by", INVALID),
        (batch()[:-1], INVALID),
        (batch() + batch(), INVALID),
        (batch() + batch()[:-1], ErrorCode.NONE),
        (batch()[:16] + b"\x01" + batch()[17:], INVALID),
        (batch()[:16] + b"\x03" + batch()[17:], CORRUPT),
        (with_length(13), CORRUPT),
        (batch() + with_length(5), CORRUPT),
    ],
)
def test_each_record_set_has_its_error(records: bytes | None, error: ErrorCode) -> None:
    assert partition_error(records, 9) is error


def test_zstd_needs_version_7() -> None:
    records = batch(codec=CompressionCodec.ZSTD)
    assert partition_error(records, 6) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert partition_error(records, 7) is ErrorCode.NONE


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_kafka_stumbles_over_a_codec_that_it_does_not_know_where_it_looks_for_zstd(codec: int) -> None:
    records = bytearray(batch())
    records[22] = codec
    assert not is_plain_batch(bytes(records))
    assert partition_error(bytes(records), 6) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert partition_error(bytes(records), 7) is ErrorCode.NONE


def test_old_versions_are_not_looked_at() -> None:
    assert partition_error(b"", 2) is ErrorCode.NONE


@pytest.mark.parametrize("records", [None, b"", batch() + b"x", batch(codec=CompressionCodec.ZSTD), batch()[:60]])
def test_what_is_not_plainly_one_batch_is_looked_at_again(records: bytes | None) -> None:
    assert not is_plain_batch(records)


def test_one_whole_batch_is_plain() -> None:
    assert is_plain_batch(batch())
    assert is_plain_batch(memoryview(batch()))


def test_a_first_batch_without_a_header_refuses_the_whole_request() -> None:
    refusal = whole_request_error(request(batch(), with_length(5)))
    assert refusal is not None
    assert (refusal.error_code, refusal.message) == (
        CORRUPT,
        "Record size 5 is less than the minimum record overhead (14)",
    )


def test_a_size_that_overflows_refuses_the_whole_request_with_an_unknown_error() -> None:
    refusal = whole_request_error(request(with_length(2**31 - 1)))
    assert refusal is not None
    assert refusal.error_code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_transaction_without_its_id_is_not_authorised() -> None:
    transactional = batch(producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    refusal = whole_request_error(request(batch(), transactional))
    assert refusal is not None
    assert refusal.error_code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert whole_request_error(request(batch(), transactional, transactional_id="t")) is None
    assert transactional_batch(transactional) == ((1, 0), 0)
    assert transactional_batch(batch()) is None
    # Only producers with an id are verified: Kafka takes this one as a plain batch.
    assert transactional_batch(batch(is_transactional=True)) is None


def test_a_batch_too_short_for_a_producer_id_is_found() -> None:
    assert producer_ids_readable([batch()])
    assert not producer_ids_readable([batch(), with_length(14)[:26]])
