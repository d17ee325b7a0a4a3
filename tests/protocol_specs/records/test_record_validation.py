from __future__ import annotations

import pytest

from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import (
    ChecksumMismatch,
    CorruptRecordBatch,
    InvalidRecord,
    OffsetsOutOfOrder,
    RecordBatchError,
    RecordSetTooLarge,
    RecordsRejected,
    TimestampsRejected,
    UnknownCodec,
)
from protocol_specs.records.batch_peek import RECORD_BATCH_OVERHEAD, TimestampType, peek_header
from protocol_specs.records.compression import CompressionCodec, compress
from protocol_specs.records.message_set import MessageSetBuilder, encode_message, iterate_messages, peek_message
from protocol_specs.records.record_batch import Record, RecordBatchBuilder, seal_batch
from protocol_specs.records.record_validation import (
    RecordChecks,
    RecordRules,
    analyze_record_set,
    expect_one_batch,
    read_validated,
    refusal_of_client_batch,
)

NOW_MS = 1_700_000_000_000


def batch(*, base_offset: int = 0, count: int = 2, **changes: int) -> bytes:
    builder = RecordBatchBuilder(base_offset=base_offset)
    for index in range(count):
        builder.append(NOW_MS + index, b"k", b"v")
    data = builder.build()
    header = peek_header(data)
    fields = {
        name: getattr(header, name) for name in type(header).__slots__ if name not in ("batch_length", "magic", "crc")
    }
    return seal_batch(data[RECORD_BATCH_OVERHEAD:], **(fields | changes))


def messages(*offsets: int) -> bytes:
    return b"".join(encode_message(offset, NOW_MS + offset, b"k", b"v", magic=1) for offset in offsets)


# The analysis of a record set


def test_a_set_of_batches_is_summed_up() -> None:
    info = analyze_record_set(batch(base_offset=5) + batch(base_offset=9, partition_leader_epoch=4), from_client=False)
    assert (info.first_offset, info.last_offset, info.last_offset_of_first_batch) == (5, 10, 6)
    assert (info.last_leader_epoch, info.valid_bytes) == (4, 2 * len(batch()))
    assert (info.max_timestamp, info.shallow_offset_of_max_timestamp) == (NOW_MS + 1, 6)
    assert analyze_record_set(b"", from_client=True).last_offset == -1


def test_bytes_after_the_last_whole_batch_do_not_count() -> None:
    assert analyze_record_set(messages(1, 2) + b"more", from_client=True).valid_bytes == len(messages(1, 2))


def test_the_codec_of_a_set_is_the_last_that_is_one() -> None:
    builder = MessageSetBuilder(magic=1, codec=CompressionCodec.SNAPPY)
    builder.append(NOW_MS, None, b"v")
    info = analyze_record_set(builder.build() + messages(1), from_client=True)
    assert info.source_codec is CompressionCodec.SNAPPY


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (batch(base_offset=1), InvalidRecord),
        (batch() + b"\x00" * 12, CorruptRecordBatch),
        (batch(count=40), RecordSetTooLarge),
        (batch()[:-1] + b"?", ChecksumMismatch),
        (messages(1)[:-1] + b"?", ChecksumMismatch),
        (batch(attributes=7), UnknownCodec),
        (batch(base_offset=1)[:-1] + b"?", InvalidRecord),
        (batch(count=40)[:-1] + b"?", RecordSetTooLarge),
    ],
    ids=["base offset", "frame", "size", "crc", "message crc", "codec", "base offset before crc", "size before crc"],
)
def test_a_producers_set_is_refused_by_the_first_rule_that_it_breaks(
    data: bytes, error: type[RecordBatchError]
) -> None:
    with pytest.raises(error):
        analyze_record_set(data, from_client=True, max_batch_bytes=200)


def test_a_follower_takes_ascending_offsets_alone() -> None:
    analyze_record_set(messages(1, 2, 5), from_client=False, monotonic=True)
    analyze_record_set(messages(1, 2, 2), from_client=False)
    with pytest.raises(OffsetsOutOfOrder, match="ends at offset 2, the one before it at 2"):
        analyze_record_set(messages(1, 2, 2, 1), from_client=False, monotonic=True)
    with pytest.raises(ChecksumMismatch):
        analyze_record_set(messages(2, 2)[:-1] + b"?", from_client=False, monotonic=True)


# Headers


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"last_offset_delta": -1}, r"invalid offset range: \[0, -1\]"),
        ({"records_count": 0}, "Invalid reported count for record batch: 0"),
        ({"records_count": 3}, r"Inconsistent batch offset range \[0, 1\] and count of records 3"),
        ({"attributes": 0x20}, "not allowed to write control records"),
        ({"producer_id": 5}, "Invalid sequence number -1 in record batch with producerId 5"),
    ],
)
def test_a_client_may_not_write_such_a_header(changes: dict[str, int], words: str) -> None:
    refusal = refusal_of_client_batch(peek_header(batch(**changes)))
    assert refusal is not None
    with pytest.raises(ValueError, match=words):
        raise ValueError(refusal)


def test_a_sound_header_and_any_message_pass() -> None:
    assert refusal_of_client_batch(peek_header(batch())) is None
    assert refusal_of_client_batch(peek_message(messages(1))) is None


def test_only_uncompressed_messages_come_by_the_many() -> None:
    several = [(peek_message(messages(1)), memoryview(messages(1)))] * 2
    assert expect_one_batch(list(several), CompressionCodec.NONE).last_offset == 1
    with pytest.raises(InvalidRecord, match="more than one batch"):
        expect_one_batch(list(several), CompressionCodec.GZIP)
    with pytest.raises(InvalidRecord, match="no batches at all"):
        expect_one_batch([], CompressionCodec.NONE)


# Records


def test_rejected_records_have_their_index_and_a_wrong_time_outweighs_a_missing_key() -> None:
    rules = RecordRules(now_ms=NOW_MS, timestamp_before_max_ms=100, timestamp_after_max_ms=10, compacted=True)
    checks = RecordChecks(peek_header(batch()), rules)
    times = [(NOW_MS, b"k"), (NOW_MS, None), (NOW_MS - 101, b"k"), (NOW_MS + 11, b"k"), (-1, b"k"), (NOW_MS + 99, None)]
    passed = [checks.check(Record(offset=0, timestamp=at, key=key, value=None)) for at, key in times]
    assert passed == [True, False, False, False, True, False]
    assert not checks.passed
    with pytest.raises(TimestampsRejected) as refused:
        checks.finish()
    assert list(refused.value.reasons) == [1, 2, 3, 5]
    assert "without key" in refused.value.reasons[5]
    assert f"[{NOW_MS - 100}, {NOW_MS + 10}]" in refused.value.reasons[2]
    assert refused.value.error_code is ErrorCode.INVALID_TIMESTAMP


def test_a_missing_key_alone_is_an_invalid_record() -> None:
    checks = RecordChecks(peek_header(batch()), RecordRules(now_ms=0, compacted=True))
    checks.check(Record(offset=0, timestamp=-1, key=None, value=None))
    with pytest.raises(RecordsRejected) as refused:
        checks.finish()
    assert refused.value.error_code is ErrorCode.INVALID_RECORD


def test_a_producer_does_not_claim_the_brokers_time() -> None:
    header = peek_header(batch(attributes=8))
    for timestamp_type, timestamp in ((TimestampType.LOG_APPEND_TIME, NOW_MS), (TimestampType.CREATE_TIME, -1)):
        checks = RecordChecks(header, RecordRules(now_ms=NOW_MS, timestamp_type=timestamp_type))
        assert not checks.check(Record(offset=0, timestamp=timestamp, key=None, value=None))
    checks = RecordChecks(header, RecordRules(now_ms=NOW_MS))
    assert checks.check(Record(offset=0, timestamp=NOW_MS, key=None, value=None))
    checks.finish()


def test_a_time_far_off_wraps_as_javas_numbers_do() -> None:
    rules = RecordRules(now_ms=NOW_MS, timestamp_before_max_ms=100)
    assert RecordChecks(peek_header(batch()), rules).check(Record(offset=0, timestamp=-(2**63), key=None, value=None))


def test_what_lies_in_a_wrapper_is_checked_by_magic_and_checksum() -> None:
    def checks_of(inner: bytes) -> RecordChecks:
        wrapper = encode_message(9, NOW_MS, None, compress(CompressionCodec.GZIP, inner), magic=1, attributes=1)
        checks = RecordChecks(peek_message(wrapper), RecordRules(now_ms=NOW_MS))
        for message in iterate_messages(wrapper):
            checks.check(message)
        return checks

    checks_of(messages(0, 9)).finish()
    with pytest.raises(RecordsRejected, match="magic 0 inside of a wrapper of magic 1"):
        checks_of(encode_message(9, 0, None, b"v", magic=0)).finish()
    with pytest.raises(ChecksumMismatch):
        checks_of(messages(0, 9)[:-1] + b"?")


def test_what_an_empty_batch_holds_is_not_looked_at() -> None:
    assert [records for _, records in read_validated(batch(records_count=0, attributes=1))] == [[]]


def test_the_validating_reader_yields_the_batches_before_a_bad_one() -> None:
    reader = read_validated(batch() + batch(records_count=3))
    assert len(next(reader)[1]) == 2
    with pytest.raises(InvalidRecord):
        next(reader)
    with pytest.raises(InvalidRecord, match="bytes after the last record"):
        list(read_validated(batch(records_count=1)))
    with pytest.raises(ChecksumMismatch):
        list(read_validated(batch()[:-1] + b"?"))
