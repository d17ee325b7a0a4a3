from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import (
    DecompressionLimitExceeded,
    InvalidRecord,
    RecordBatchError,
    RecordsRejected,
    UnsupportedForMessageFormat,
    UnwritableRecord,
)
from protocol_specs.fuzzing.strategies import codecs, message_sets
from protocol_specs.records.batch_peek import TimestampType
from protocol_specs.records.compression import CompressionCodec, compress
from protocol_specs.records.message_set import MessageSetBuilder, encode_message, read_messages
from protocol_specs.records.offset_assignment import AssignedRecords, AssignmentRules, validate_and_assign_offsets
from protocol_specs.records.record_batch import RecordBatchBuilder
from protocol_specs.records.record_set import iterate_any, read_any_record_set

if TYPE_CHECKING:
    from protocol_specs.records.record_batch import Record

NOW_MS = 1_700_000_000_000
RULES = AssignmentRules(now_ms=NOW_MS)
APPEND = TimestampType.LOG_APPEND_TIME


def messages(magic: int, count: int = 3, codec: CompressionCodec = CompressionCodec.NONE, **options: Any) -> bytes:
    builder = MessageSetBuilder(magic=magic, codec=codec, **options)
    for index in range(count):
        builder.append(NOW_MS + index, b"k", b"v%d" % index)
    return builder.build()


def batch(count: int = 3, *, headers: bool = False, **options: Any) -> bytes:
    builder = RecordBatchBuilder(**options)
    for index in range(count):
        builder.append(NOW_MS + index, b"k", b"v%d" % index, [("h", b"1")] if headers else ())
    return builder.build()


def assign(data: bytes, **rules: Any) -> AssignedRecords:
    return validate_and_assign_offsets(data, offset=100, rules=replace(RULES, **rules))


@given(message_sets(base_offset=0), st.integers(0, 2), st.none() | codecs(), st.sampled_from(TimestampType))
def test_records_of_any_format_get_the_next_offsets_in_any_other(
    drawn: tuple[bytes, list[Record]],
    to_magic: int,
    target: CompressionCodec | None,
    timestamp_type: TimestampType,
) -> None:
    data, expected = drawn
    if to_magic < 2 and target is CompressionCodec.ZSTD:
        target = None
    rules = replace(RULES, to_magic=to_magic, target_codec=target, timestamp_type=timestamp_type)
    [(source, _), *_] = iterate_any(data)
    if timestamp_type is APPEND and source.timestamp_type is APPEND:
        with pytest.raises(RecordsRejected, match="should not set timestamp type"):
            validate_and_assign_offsets(data, offset=100, rules=rules)
        return
    assigned = validate_and_assign_offsets(data, offset=100, rules=rules)
    found = list(read_any_record_set(assigned.records))
    assert [record.offset for record in found] == list(range(100, assigned.next_offset))
    assert [(record.key, record.value) for record in found] == [(record.key, record.value) for record in expected]
    batches = [header for header, _ in iterate_any(assigned.records)]
    assert {header.magic for header in batches} == {to_magic}
    assert batches[0].codec is (source.codec if target is None else target)
    if timestamp_type is APPEND and to_magic > 0:
        assert {record.timestamp for record in found} == {NOW_MS}
        assert assigned.max_timestamp == NOW_MS
    elif to_magic > 0:
        assert [record.timestamp for record in found] == [record.timestamp for record in expected]
        assert assigned.max_timestamp == max(record.timestamp for record in expected)


# Kept and rewritten batches


def test_a_wrapper_is_kept_and_only_its_header_changes() -> None:
    data = messages(1, codec=CompressionCodec.GZIP)
    assigned = assign(data, to_magic=1)
    assert assigned.records[26:] == data[26:]
    assert (assigned.records_converted, assigned.shallow_offset_of_max_timestamp) == (0, 102)
    stamped = assign(data, to_magic=1, timestamp_type=APPEND)
    assert stamped.records_converted == 0
    assert {record.timestamp for record in read_messages(stamped.records)} == {NOW_MS}


def test_a_wrapper_with_gaps_inside_and_any_of_magic_0_is_written_anew() -> None:
    inner = b"".join(encode_message(offset, NOW_MS, b"k", b"v", magic=1) for offset in (0, 2))
    gaps = encode_message(2, NOW_MS, None, compress(CompressionCodec.GZIP, inner), magic=1, attributes=1)
    assert assign(gaps, to_magic=1).records_converted == 2
    assert [record.offset for record in read_messages(assign(gaps, to_magic=1).records)] == [100, 101]
    old = assign(messages(0, codec=CompressionCodec.GZIP), to_magic=0)
    assert old.records_converted == 3
    assert [message.offset for message in read_messages(old.records)] == [100, 101, 102]


def test_many_messages_become_one_batch_and_many_uncompressed_ones_stay_many() -> None:
    assert len(list(iterate_any(assign(messages(1)).records))) == 1
    assert len(list(iterate_any(assign(messages(1), to_magic=1).records))) == 3
    assert len(list(iterate_any(assign(messages(1), to_magic=0).records))) == 3
    wrapped = assign(messages(1), to_magic=1, target_codec=CompressionCodec.SNAPPY)
    assert [header.codec for header, _ in iterate_any(wrapped.records)] == [CompressionCodec.SNAPPY]


def test_the_largest_timestamp_is_found_where_it_lies() -> None:
    late = encode_message(0, NOW_MS + 5, None, None, magic=1) + encode_message(1, NOW_MS, None, None, magic=1)
    for to_magic, offset in ((1, 100), (2, 101)):
        assigned = assign(late, to_magic=to_magic)
        assert (assigned.max_timestamp, assigned.shallow_offset_of_max_timestamp) == (NOW_MS + 5, offset)
    down = assign(batch(2), to_magic=1)
    assert (down.max_timestamp, down.shallow_offset_of_max_timestamp) == (NOW_MS + 1, 101)
    none = assign(messages(0), to_magic=2)
    assert (none.max_timestamp, none.shallow_offset_of_max_timestamp) == (-1, -1)
    for to_magic, expected in ((0, (-1, -1)), (1, (NOW_MS, 100)), (2, (NOW_MS, 102))):
        data = batch() if to_magic == 2 else messages(to_magic)
        assigned = assign(data, to_magic=to_magic, timestamp_type=APPEND)
        assert (assigned.max_timestamp, assigned.shallow_offset_of_max_timestamp) == expected
    written = assign(batch(), to_magic=1, timestamp_type=APPEND)
    assert (written.max_timestamp, written.shallow_offset_of_max_timestamp) == (NOW_MS, 100)


def test_control_batches_stay_uncompressed() -> None:
    control = batch(1, is_control=True, producer_id=4, producer_epoch=0, is_transactional=True)
    assigned = assign(control, target_codec=CompressionCodec.GZIP, from_client=False)
    [(header, _)] = iterate_any(assigned.records)
    assert (header.is_control, header.codec) == (True, CompressionCodec.NONE)


# Refused batches


@pytest.mark.parametrize(
    ("data", "rules", "error", "words"),
    [
        (b"", {}, InvalidRecord, "no batches at all"),
        (batch() * 2, {}, InvalidRecord, "more than one batch"),
        (messages(1, codec=CompressionCodec.GZIP) * 2, {}, InvalidRecord, "more than one batch"),
        (messages(0) + messages(1), {"to_magic": 1}, InvalidRecord, "magic 1 is not the same as the first batch's 0"),
        (batch(is_control=True), {}, InvalidRecord, "control records"),
        (
            batch(producer_id=1, producer_epoch=0, base_sequence=0),
            {"to_magic": 1},
            UnsupportedForMessageFormat,
            "Idempotent records cannot be used with magic 1",
        ),
        (
            batch(producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True, codec=CompressionCodec.GZIP),
            {"to_magic": 1},
            UnsupportedForMessageFormat,
            "Transactional records cannot be used with magic 1",
        ),
        (batch(is_transactional=True), {"to_magic": 1}, UnwritableRecord, "Transactional records are not supported"),
        (batch(is_transactional=True), {"target_codec": CompressionCodec.LZ4}, UnwritableRecord, "valid producer ID"),
        (batch(headers=True), {"to_magic": 1}, UnwritableRecord, "Magic v1 does not support record headers"),
        (batch(codec=CompressionCodec.ZSTD), {"to_magic": 1}, UnwritableRecord, "zstd compression is not supported"),
        (messages(1, codec=CompressionCodec.GZIP), {"limit_bytes": 20}, DecompressionLimitExceeded, "limit_bytes=20"),
    ],
)
def test_kafkas_refusals(data: bytes, rules: dict[str, Any], error: type[RecordBatchError], words: str) -> None:
    with pytest.raises(error, match=words):
        assign(data, **rules)


def test_a_wrong_offset_inside_of_a_compressed_batch_cannot_be_mended() -> None:
    builder = RecordBatchBuilder(codec=CompressionCodec.GZIP)
    builder.append_with_offset(0, NOW_MS, None, None)
    builder.append_with_offset(2, NOW_MS, None, None)
    builder.append_with_offset(3, NOW_MS, None, None)
    with pytest.raises(UnwritableRecord, match="wrong offset delta") as refused:
        assign(builder.build(), from_client=False)
    assert refused.value.error_code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_producer_state_that_no_builder_writes_is_refused() -> None:
    for options in ({"producer_epoch": -1}, {"producer_epoch": 0, "base_sequence": -1}):
        with pytest.raises(UnwritableRecord, match="Invalid negative"):
            assign(batch(producer_id=1, **options), target_codec=CompressionCodec.GZIP, from_client=False)
    builder = RecordBatchBuilder()
    builder.append(-7, None, None)
    with pytest.raises(UnwritableRecord, match="Invalid negative timestamp -7"):
        assign(builder.build(), target_codec=CompressionCodec.GZIP)
