from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import UnsupportedCompressionType, UnwritableRecord
from protocol_specs.fuzzing.strategies import record_sets
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.control_records import (
    ControlRecordType,
    EndTransactionMarker,
    end_transaction_marker_batch,
)
from protocol_specs.records.down_conversion import (
    MAX_READ_BYTES,
    down_convert,
    down_convert_for_fetch,
    down_convert_or_keep,
)
from protocol_specs.records.message_set import MessageSetBuilder
from protocol_specs.records.record_batch import RecordBatchBuilder, TimestampType
from protocol_specs.records.record_set import iterate_any, read_any_record_set

if TYPE_CHECKING:
    from protocol_specs.records.record_batch import Record

NOW_MS = 1_700_000_000_000
MARKER = end_transaction_marker_batch(
    EndTransactionMarker(control_type=ControlRecordType.COMMIT, coordinator_epoch=1),
    producer_id=1,
    producer_epoch=0,
    timestamp_ms=NOW_MS,
)


def batch(*, base_offset: int = 10, count: int = 3, codec: CompressionCodec = CompressionCodec.NONE) -> bytes:
    builder = RecordBatchBuilder(base_offset=base_offset, codec=codec)
    for index in range(count):
        builder.append(NOW_MS + index, b"k", b"v", [("header", b"goes")])
    return builder.build()


def messages(magic: int, *, base_offset: int = 10, codec: CompressionCodec = CompressionCodec.NONE) -> bytes:
    builder = MessageSetBuilder(magic=magic, base_offset=base_offset, codec=codec)
    for index in range(3):
        builder.append(NOW_MS + index, b"k", b"v")
    return builder.build()


def convert(data: bytes, to_magic: int, first_offset: int = 0) -> bytes:
    return down_convert(data, to_magic=to_magic, first_offset=first_offset).records


@given(record_sets(), st.integers(0, 2))
def test_offsets_keys_and_values_stay_and_headers_go(drawn: tuple[bytes, list[Record]], to_magic: int) -> None:
    data, expected = drawn
    try:
        converted = down_convert(data, to_magic=to_magic, first_offset=0)
    except UnsupportedCompressionType:
        assert any(header.codec is CompressionCodec.ZSTD for header, _ in iterate_any(data))
        return
    found = list(read_any_record_set(converted.records))
    assert [(record.offset, record.key, record.value) for record in found] == [
        (record.offset, record.key, record.value) for record in expected
    ]
    assert all(header.magic <= to_magic for header, _ in iterate_any(converted.records))
    kept = sum(len(batch) for header, batch in iterate_any(data) if header.magic <= to_magic)
    assert (converted.records_converted == 0) == (kept == len(data))
    if to_magic < 2:
        assert not any(record.headers for record in found)
    if to_magic > 0:
        assert [record.timestamp for record in found] == [record.timestamp for record in expected]


@pytest.mark.parametrize("codec", [codec for codec in CompressionCodec if codec is not CompressionCodec.ZSTD])
@pytest.mark.parametrize("magic", [0, 1])
def test_a_converted_batch_is_the_message_set_that_a_producer_would_have_built(
    magic: int, codec: CompressionCodec
) -> None:
    assert convert(batch(codec=codec), magic) == messages(magic, codec=codec)
    assert convert(messages(1, codec=codec), 0) == messages(0, codec=codec)


def test_the_brokers_time_stays_the_brokers() -> None:
    builder = RecordBatchBuilder(timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=NOW_MS)
    builder.append(5, None, b"v")
    [(header, _)] = iterate_any(convert(builder.build(), 1))
    assert (header.timestamp_type, header.max_timestamp) == (TimestampType.LOG_APPEND_TIME, NOW_MS)


def test_records_before_the_fetch_offset_are_left_out_of_uncompressed_sets_alone() -> None:
    assert [record.offset for record in read_any_record_set(convert(batch(), 1, 12))] == [12]
    assert [record.offset for record in read_any_record_set(convert(batch(codec=CompressionCodec.GZIP), 1, 12))] == [
        10,
        11,
        12,
    ]
    assert convert(batch(), 1, 99) == b""
    assert convert(batch(), 2, 12) == batch()


def test_control_batches_go_and_zstd_is_refused() -> None:
    assert convert(MARKER + batch() + MARKER, 1) == messages(1)
    assert convert(MARKER, 2) == MARKER
    with pytest.raises(UnsupportedCompressionType, match="zstandard") as refused:
        convert(batch() + batch(codec=CompressionCodec.ZSTD), 1)
    assert refused.value.error_code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def test_a_timestamp_that_no_message_can_hold_is_refused() -> None:
    builder = RecordBatchBuilder()
    builder.append(-5, None, None)
    with pytest.raises(UnwritableRecord, match="timestamp -5 is negative"):
        convert(builder.build(), 1)


def test_what_has_nothing_to_convert_is_kept_byte_for_byte() -> None:
    cut_off = batch()[:-1]
    assert down_convert_or_keep(cut_off, to_magic=0, first_offset=0) == cut_off
    assert down_convert_or_keep(MARKER, to_magic=0, first_offset=0) == MARKER
    assert down_convert_or_keep(batch() + cut_off, to_magic=1, first_offset=0) == messages(1)


# The bytes on the wire


def test_a_fetch_response_has_the_size_read_and_ends_inside_a_batch() -> None:
    read = batch(count=50) + batch(base_offset=60, count=50)[:-1]
    sent = down_convert_for_fetch(read, to_magic=0, first_offset=0)
    assert len(sent) == max(len(read), len(convert(read, 0)))
    assert sent.startswith(convert(batch(count=50), 0))
    assert list(read_any_record_set(sent)) == list(read_any_record_set(convert(read, 0)))


def test_the_first_batch_is_sent_whole_even_where_it_grows() -> None:
    tight = RecordBatchBuilder()
    for _ in range(100):
        tight.append(NOW_MS, None, None)
    data = tight.build()
    converted = convert(data, 1)
    assert len(converted) > len(data)
    assert down_convert_for_fetch(data, to_magic=1, first_offset=0) == converted


def test_nothing_that_remains_is_the_beginning_of_a_batch_too_large() -> None:
    sent = down_convert_for_fetch(MARKER, to_magic=1, first_offset=0)
    assert sent == (-1).to_bytes(8, "big", signed=True) + (61).to_bytes(4, "big")
    assert down_convert_for_fetch(batch()[:-1], to_magic=1, first_offset=0) == b""


def test_zstd_after_the_first_batch_ends_the_response_and_first_it_is_refused() -> None:
    large = batch(count=MAX_READ_BYTES // 20)
    zstd = batch(codec=CompressionCodec.ZSTD)
    sent = down_convert_for_fetch(batch() + large + zstd, to_magic=1, first_offset=0)
    assert [record.offset for record in read_any_record_set(sent)][:3] == [10, 11, 12]
    with pytest.raises(UnsupportedCompressionType):
        down_convert_for_fetch(zstd, to_magic=1, first_offset=0)


def test_what_follows_a_dropped_batch_may_be_sent_twice() -> None:
    # As LazyDownConversionRecords does: it steps over one batch, even if the first that remained was a later one.
    read = MARKER * 3 + batch()
    sent = down_convert_for_fetch(read, to_magic=1, first_offset=0)
    assert [record.offset for record in read_any_record_set(sent)] == [10, 11, 12] * 2
