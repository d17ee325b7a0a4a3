from __future__ import annotations

import tracemalloc
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.errors import (
    ChecksumMismatch,
    CorruptRecordBatch,
    DecompressionLimitExceeded,
    InvalidRecord,
    MalformedMessage,
    RecordBatchError,
    TruncatedRecordBatch,
    UnknownCodec,
    UnsupportedMagic,
)
from protocol_specs.fuzzing.strategies import broken_bytes, message_sets, record_sets
from protocol_specs.records.batch_peek import TimestampType
from protocol_specs.records.compression import CompressionCodec, compress
from protocol_specs.records.lz4_frame import compress_frame, decompress_frame
from protocol_specs.records.message_set import (
    MessageSetBuilder,
    check_message,
    encode_message,
    first_offset,
    iterate_messages,
    message_size,
    messages_section,
    peek_message,
    read_messages,
    with_offset,
    with_timestamp,
)
from protocol_specs.records.record_set import check_any, iterate_any, read_any, read_any_record_set
from protocol_specs.records.record_validation import read_validated

if TYPE_CHECKING:
    from protocol_specs.records.record_batch import Record

MESSAGE = encode_message(7, 5, b"key", b"value", magic=1)
WRAPPED = b"".join(encode_message(offset, 5, None, b"v", magic=1) for offset in (0, 1, 4))


def wrapper(content: bytes | None, *, offset: int = 4, codec: int = 1, magic: int = 1, attributes: int = 0) -> bytes:
    value = None if content is None else compress(CompressionCodec(codec), content, magic=magic)
    return encode_message(offset, 9, b"ignored", value, magic=magic, attributes=codec | attributes)


# Building and reading


@given(message_sets())
def test_what_is_built_is_read_and_sound(drawn: tuple[bytes, list[Record]]) -> None:
    data, expected = drawn
    assert list(read_any_record_set(data)) == expected
    assert [record for _, records in read_validated(data) for record in records] == expected
    for header, message in iterate_any(data):
        assert check_message(message) == check_any(message) == header
        assert header.timestamp_type is None if header.magic == 0 else header.timestamp_type is not None
    assert first_offset(data) == expected[0].offset
    last_of_first = expected[-1 if peek_message(data).is_compressed else 0]
    assert peek_message(data).next_offset == last_of_first.offset + 1


@given(record_sets())
def test_mixed_magics_are_read_in_order(drawn: tuple[bytes, list[Record]]) -> None:
    data, expected = drawn
    assert list(read_any_record_set(data)) == expected
    assert [record for _, records in read_validated(data) for record in records] == expected


@given(record_sets(), st.data())
def test_a_set_that_is_cut_off_ends_with_its_last_whole_message(
    drawn: tuple[bytes, list[Record]], data: st.DataObject
) -> None:
    whole, _ = drawn
    cut = data.draw(st.integers(0, len(whole)))
    sizes = [len(batch) for _, batch in iterate_any(whole)]
    found = [len(batch) for _, batch in iterate_any(whole[:cut])]
    assert found == sizes[: len(found)]
    assert sum(sizes[: len(found) + 1]) > cut or len(found) == len(sizes)


@pytest.mark.parametrize("codec", [codec for codec in CompressionCodec if codec is not CompressionCodec.ZSTD])
@pytest.mark.parametrize("magic", [0, 1])
def test_the_size_is_known_before_compression(magic: int, codec: CompressionCodec) -> None:
    builder = MessageSetBuilder(magic=magic, codec=codec, base_offset=100)
    assert builder.append(1, b"k", b"v") == message_size(magic, b"k", b"v")
    assert builder.append_with_offset(103, 2, None, None) == message_size(magic, None, None)
    assert (builder.records_count, builder.last_offset) == (2, 103)
    assert builder.max_timestamp == (2 if magic else -1)
    built = builder.build()
    assert built == builder.build()
    if codec is CompressionCodec.NONE:
        assert len(built) == builder.size_in_bytes
    else:
        overhead = message_size(magic, None, None)
        assert len(messages_section(built)) == builder.size_in_bytes - overhead
        assert [message.header.offset for message in iterate_messages(built)] == ([100, 103], [0, 3])[magic]


def test_an_empty_set_is_no_bytes() -> None:
    assert MessageSetBuilder(magic=1, codec=CompressionCodec.GZIP).build() == b""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"magic": 2}, "magic 0 or 1, not 2"),
        ({"magic": 1, "codec": CompressionCodec.ZSTD}, "zstd compression is not supported in magic 1"),
    ],
)
def test_what_the_format_lacks_cannot_be_built(options: dict[str, int], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        MessageSetBuilder(**options)  # type: ignore[arg-type]


def test_offsets_ascend_and_timestamps_are_not_negative() -> None:
    builder = MessageSetBuilder(magic=1)
    builder.append(-1, None, None)
    with pytest.raises(ValueError, match="offset 0 is not after the set's last, 0"):
        builder.append_with_offset(0, 1, None, None)
    with pytest.raises(ValueError, match="2147483648 is more than"):
        builder.append_with_offset(2**31, 1, None, None)
    with pytest.raises(ValueError, match="timestamp -2 is negative"):
        builder.append(-2, None, None)


# One message


def test_a_message_is_peeked_at_without_its_key_and_value() -> None:
    header = peek_message(b"??" + MESSAGE[:26], 2)
    assert (header.offset, header.magic, header.timestamp, header.size_in_bytes) == (7, 1, 5, len(MESSAGE))
    assert header.crc == zlib.crc32(MESSAGE[16:])
    assert (header.last_offset, header.max_timestamp, header.codec) == (7, 5, CompressionCodec.NONE)
    nothing = (header.producer_id, header.producer_epoch, header.base_sequence, header.last_sequence)
    assert nothing == (-1, -1, -1, -1)
    assert [header.has_producer_id, header.is_transactional, header.is_control] == [False] * 3
    assert (header.records_count, header.delete_horizon_ms, header.partition_leader_epoch) == (None, None, -1)


def test_too_short_and_foreign_messages_are_refused() -> None:
    with pytest.raises(TruncatedRecordBatch, match="needs 26 bytes, 25 bytes left"):
        peek_message(MESSAGE[:25])
    with pytest.raises(UnsupportedMagic, match="magic 2, only magic 0 or 1"):
        peek_message(MESSAGE[:16] + b"\x02")
    with pytest.raises(TruncatedRecordBatch):
        check_message(MESSAGE[:-1])
    with pytest.raises(TruncatedRecordBatch):
        read_messages(MESSAGE[:-1])
    with pytest.raises(TruncatedRecordBatch):
        messages_section(MESSAGE[:-1])
    with pytest.raises(CorruptRecordBatch, match="message of 13 bytes, the smallest has 14"):
        check_message(MESSAGE[:8] + (13).to_bytes(4, "big") + MESSAGE[12:])
    with pytest.raises(ChecksumMismatch):
        check_message(MESSAGE[:-1] + b"?")
    with pytest.raises(CorruptRecordBatch, match="more than the largest allowed, 20"):
        list(iterate_any(MESSAGE, max_message_size=20))
    with pytest.raises(CorruptRecordBatch, match="record batch has magic 3"):
        list(iterate_any(MESSAGE[:16] + b"\x03" + MESSAGE[17:]))
    with pytest.raises(CorruptRecordBatch, match="less than the minimum of 49"):
        list(iterate_any(MESSAGE[:16] + b"\x02" + MESSAGE[17:]))


def test_a_key_or_value_beyond_its_message_is_refused_on_access() -> None:
    def forged(at: int, size: int) -> bytes:
        return MESSAGE[:at] + size.to_bytes(4, "big") + MESSAGE[at + 4 :] + MESSAGE

    [message] = iterate_messages(forged(26, 9999))
    assert message.has_key
    with pytest.raises(MalformedMessage, match="message key of 9999 bytes, 12 bytes left"):
        _ = message.key
    with pytest.raises(MalformedMessage, match="message value of 6 bytes, 5 bytes left"):
        read_messages(forged(33, 6))
    with pytest.raises(MalformedMessage, match="size of the value"):
        read_messages(forged(26, 11))
    with pytest.raises(MalformedMessage, match="size of the key"):
        read_messages(encode_message(0, 0, None, None, magic=1)[:8] + (14).to_bytes(4, "big") + MESSAGE[12:26])


def test_a_leader_writes_offset_and_timestamp_into_a_message() -> None:
    moved = with_offset(MESSAGE + b"more", 99)
    assert (moved[:8], moved[8:]) == ((99).to_bytes(8, "big"), MESSAGE[8:])
    stamped = with_timestamp(wrapper(WRAPPED), TimestampType.LOG_APPEND_TIME, 77)
    assert check_message(stamped).timestamp_type is TimestampType.LOG_APPEND_TIME
    assert [record.timestamp for record in read_messages(stamped)] == [77, 77, 77]
    assert with_timestamp(stamped, TimestampType.LOG_APPEND_TIME, 77) == stamped
    back = with_timestamp(stamped, TimestampType.CREATE_TIME, 9)
    assert back == wrapper(WRAPPED)
    with pytest.raises(ValueError, match="magic 0 have no timestamp"):
        with_timestamp(encode_message(0, 0, None, None, magic=0), TimestampType.CREATE_TIME, 9)


# Wrappers


def test_offsets_inside_of_a_wrapper_count_back_from_its_own() -> None:
    assert [record.offset for record in read_messages(wrapper(WRAPPED, offset=104))] == [100, 101, 104]
    # librdkafka once wrote 0; magic 0 has absolute offsets.
    assert [record.offset for record in read_messages(wrapper(WRAPPED, offset=0))] == [0, 1, 4]
    old = b"".join(encode_message(offset, 0, None, None, magic=0) for offset in (50, 51))
    assert [record.offset for record in read_messages(wrapper(old, offset=51, magic=0))] == [50, 51]


def test_the_timestamps_inside_are_their_own_unless_the_broker_set_the_wrappers() -> None:
    assert {record.timestamp for record in read_messages(wrapper(WRAPPED))} == {5}
    assert {record.timestamp for record in read_messages(wrapper(WRAPPED, attributes=8))} == {9}


def test_a_message_cut_off_at_the_end_of_a_wrapper_is_left_out() -> None:
    assert len(read_messages(wrapper(WRAPPED + MESSAGE[:-1]))) == 3
    assert len(read_messages(wrapper(WRAPPED + MESSAGE[:11]))) == 3


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (wrapper(wrapper(WRAPPED)), InvalidRecord, "a message inside of a wrapper is compressed"),
        (wrapper(b""), InvalidRecord, "holds no message"),
        (wrapper(None), InvalidRecord, "has no value"),
        (wrapper(WRAPPED, codec=4), InvalidRecord, "cannot be compressed with zstd"),
        (wrapper(WRAPPED, offset=3), InvalidRecord, "offset 3 is less than the last one inside, 4"),
        (wrapper(WRAPPED + bytes(12)), CorruptRecordBatch, "message of 0 bytes inside of a wrapper"),
        (encode_message(0, 0, None, b"", magic=1, attributes=6), UnknownCodec, "codec 6"),
    ],
)
def test_impossible_wrappers_are_refused(data: bytes, error: type[RecordBatchError], words: str) -> None:
    check_message(data)
    with pytest.raises(error, match=words):
        read_messages(data)


def test_what_is_wrong_inside_of_a_wrapper_shows_when_it_is_reached() -> None:
    messages = iterate_messages(wrapper(WRAPPED + wrapper(WRAPPED)))
    assert [next(messages).offset for _ in range(3)] == [0, 1, 4]
    with pytest.raises(InvalidRecord, match="record 3"):
        next(messages)


def test_the_validating_reader_checks_inner_messages_more_strictly() -> None:
    other = encode_message(5, 0, None, b"v", magic=0)
    assert len(read_messages(wrapper(WRAPPED + other, offset=5))) == 4
    with pytest.raises(InvalidRecord, match="a message of magic 0 inside of a wrapper of magic 1"):
        list(read_validated(wrapper(WRAPPED + other, offset=5)))
    with pytest.raises(ChecksumMismatch):
        list(read_validated(wrapper(WRAPPED[:-1] + b"w")))


def test_lz4_of_magic_0_has_the_checksum_from_before_kip_57() -> None:
    old, new = compress_frame(b"x" * 50, checksum_from_magic=True), compress_frame(b"x" * 50)
    assert [at for at in range(len(new)) if old[at] != new[at]] == [6]
    assert decompress_frame(old, 50, any_header_checksum=True) == decompress_frame(new, 50, any_header_checksum=True)
    with pytest.raises(RecordBatchError, match="header checksum"):
        decompress_frame(old, 50)
    built = {}
    for magic in (0, 1):
        builder = MessageSetBuilder(magic=magic, codec=CompressionCodec.LZ4)
        builder.append(1, None, b"v" * 50)
        built[magic] = builder.build()
        assert [record.value for record in read_messages(built[magic])] == [b"v" * 50]
    assert old[:7] in built[0]
    assert new[:7] in built[1]


# Hostile bytes


@given(broken_bytes(record_sets(max_size=4).map(lambda drawn: drawn[0])))
def test_broken_sets_are_read_or_refused_with_an_error_of_our_own(data: bytes) -> None:
    for read in (lambda: list(read_any_record_set(data)), lambda: list(read_validated(data)), lambda: read_any(data)):
        with suppress(RecordBatchError):
            read()


@pytest.mark.parametrize("codec", [CompressionCodec.GZIP, CompressionCodec.SNAPPY, CompressionCodec.LZ4])
def test_a_bomb_stops_at_the_limit(codec: CompressionCodec) -> None:
    bomb = wrapper(bytes(20_000_000), codec=codec)
    tracemalloc.start()
    try:
        with pytest.raises(DecompressionLimitExceeded):
            read_messages(bomb, limit_bytes=1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


def test_sizes_are_not_believed() -> None:
    tracemalloc.start()
    try:
        huge = encode_message(0, 0, None, b"", magic=1)
        list(iterate_any(huge[:8] + (2**31 - 1).to_bytes(4, "big") + huge[12:]))
        list(iterate_messages(wrapper(huge + huge[:8] + (2**31 - 1).to_bytes(4, "big") + huge[12:])))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_small_lz4_block_takes_no_room_for_the_largest() -> None:
    frame = bytearray(compress_frame(b"x" * 5000))
    frame[5] = 0x70
    tracemalloc.start()
    try:
        assert len(frame) < 100
        assert decompress_frame(frame, 5000, any_header_checksum=True) == b"x" * 5000
        assert tracemalloc.get_traced_memory()[1] < 50_000
    finally:
        tracemalloc.stop()


def test_a_wrapper_of_many_messages_is_walked_without_keeping_them() -> None:
    content = encode_message(0, 0, None, None, magic=0) * 40_000
    tracemalloc.start()
    try:
        assert sum(1 for _ in iterate_messages(wrapper(content, magic=0))) == 40_000
        assert tracemalloc.get_traced_memory()[1] < 5 * len(content)
    finally:
        tracemalloc.stop()
