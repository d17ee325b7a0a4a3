from __future__ import annotations

import contextlib
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from protocol_specs.errors import InvalidRecord, MalformedVarint, RecordBatchError
from protocol_specs.fuzzing.strategies import BASE_TIMESTAMP, broken_bytes, record_batches, records
from protocol_specs.records.batch_walk import NOT_FOUND, RecordReading, RecordsWalk, walk_records
from protocol_specs.records.record_batch import (
    RECORD_BATCH_OVERHEAD,
    CompressionCodec,
    Record,
    RecordBatchBuilder,
    check_batch,
    encode_record_body,
    iterate_batches,
    peek_header,
    read_record_set,
    read_records,
    records_section,
    with_offset_and_epoch,
)
from protocol_specs.records.varints import encode_varint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

STRICT = [RecordReading.BUFFER, RecordReading.STREAM]


def section_of(drawn: Iterable[Record], base_timestamp: int = BASE_TIMESTAMP) -> bytes:
    bodies = [
        encode_record_body(r.timestamp - base_timestamp, r.offset, r.key, r.value, r.headers, attributes=r.attributes)
        for r in drawn
    ]
    return b"".join(encode_varint(len(body)) + body for body in bodies)


def alike(
    count: int,
    *,
    key: Callable[[int], bytes | None] = lambda _: None,
    value: Callable[[int], bytes | None] = lambda _: b"v" * 100,
    timestamp: Callable[[int], int] = lambda index: index // 7,
    offset: Callable[[int], int] = lambda index: index,
) -> list[Record]:
    return [
        Record(offset=offset(index), timestamp=BASE_TIMESTAMP + timestamp(index), key=key(index), value=value(index))
        for index in range(count)
    ]


def expected_walk(drawn: Sequence[Record], base_timestamp: int = BASE_TIMESTAMP) -> RecordsWalk:
    deltas = [record.timestamp - base_timestamp for record in drawn]
    wrong = [index for index, record in enumerate(drawn) if record.offset != index]
    null = [index for index, record in enumerate(drawn) if record.key is None]
    return RecordsWalk(
        records_count=len(drawn),
        min_timestamp_delta=min(deltas),
        max_timestamp_delta=max(deltas),
        first_wrong_offset_index=wrong[0] if wrong else NOT_FOUND,
        first_null_key_index=null[0] if null else NOT_FOUND,
    )


_builder = RecordBatchBuilder()
_builder.append(BASE_TIMESTAMP, None, None)
one_record = _builder.build()


# The result


@given(record_batches(max_size=60), st.sampled_from(RecordReading))
def test_the_walk_sees_what_the_reader_reads(drawn: tuple[bytes, list[Record]], reading: RecordReading) -> None:
    batch, _ = drawn
    header = peek_header(batch)
    walk = walk_records(records_section(batch, header), header.records_count, reading=reading)
    create_time = with_offset_and_epoch(batch, 0, 0, timestamp_type=type(header.timestamp_type).CREATE_TIME)
    assert walk == expected_walk(read_records(create_time), header.base_timestamp)


@given(
    st.integers(1, 400),
    st.sampled_from([0, 1, 55, 56, 100, 300]),
    st.none() | st.integers(0, 130),
    st.lists(st.integers(-200, 20_000), min_size=1, max_size=6),
    st.dictionaries(
        st.integers(0, 399), st.sampled_from(["offset", "null key", "headers", "long", "time"]), max_size=3
    ),
)
def test_runs_of_like_records_are_seen_with_every_exception(
    count: int, value_size: int, key_size: int | None, steps: list[int], odd: dict[int, str]
) -> None:
    drawn = alike(
        count,
        key=lambda _: None if key_size is None else bytes(key_size),
        value=lambda _: bytes(value_size),
        timestamp=lambda index: steps[index % len(steps)] + index // 10,
    )
    for index, what in odd.items():
        if index < count:
            record = drawn[index]
            match what:
                case "offset":
                    record.offset += 1
                case "null key":
                    record.key = None
                case "headers":
                    record.headers = (("a", b"b"),)
                case "long":
                    record.value = bytes(20_000)
                case _:
                    record.timestamp += 10**7
    assert walk_records(section_of(drawn), count) == expected_walk(drawn)


@st.composite
def varied(draw: st.DrawFn) -> list[Record]:
    """Draw records that differ in sizes, around those where a varint takes another byte."""
    sizes = st.lists(st.sampled_from([0, 1, 30, 50, 55, 60, 63, 64, 65, 80, 99, 100, 101, 130]), min_size=1, max_size=9)
    values = draw(sizes)
    keys = draw(st.none() | sizes)
    steps = draw(st.lists(st.sampled_from([0, 0, 0, 1, 5, -3, 63, 64, 100, 9000]), min_size=1, max_size=9))
    return alike(
        draw(st.integers(1, 200)),
        key=lambda index: None if keys is None else bytes(keys[index % len(keys)]),
        value=lambda index: bytes(values[index % len(values)]),
        timestamp=lambda index: steps[index % len(steps)],
    )


@given(varied(), st.sampled_from(RecordReading))
def test_records_of_varied_sizes_are_walked(drawn: list[Record], reading: RecordReading) -> None:
    assert walk_records(section_of(drawn), len(drawn), reading=reading) == expected_walk(drawn)


@given(records(max_size=60), st.lists(st.integers(-(2**31), 2**31 - 1), max_size=3))
def test_any_offsets_are_walked(drawn: list[Record], offsets: list[int]) -> None:
    for record, offset in zip(drawn, offsets, strict=False):
        record.offset = offset
    section = section_of(drawn)
    for reading in RecordReading:
        assert walk_records(memoryview(section), len(drawn), reading=reading) == expected_walk(drawn)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 8191, 8192, 8193, 20_000])
@pytest.mark.parametrize("step_ms", [0, 1, 100])
def test_long_runs_cross_the_sizes_where_varints_grow(count: int, step_ms: int) -> None:
    drawn = alike(count, value=lambda _: b"v", timestamp=lambda index: index * step_ms)
    assert walk_records(section_of(drawn), count) == expected_walk(drawn)


@pytest.mark.parametrize("at", [0, 1, 62, 63, 64, 70, 8190, 8191, 8192, 8500])
def test_one_wrong_offset_in_a_long_run_is_found(at: int) -> None:
    for shift in (1, -1, 64, 128):
        drawn = alike(9000, value=lambda _: b"v")
        drawn[at].offset = max(0, at + shift)
        assert walk_records(section_of(drawn), 9000) == expected_walk(drawn)


def test_the_first_null_key_is_found_behind_a_run() -> None:
    drawn = alike(100, key=lambda index: None if index >= 70 else b"key")
    assert walk_records(section_of(drawn), 100).first_null_key_index == 70


def test_attribute_bytes_mean_nothing() -> None:
    drawn = alike(50)
    for record in drawn:
        record.attributes = record.offset * 5
    assert walk_records(section_of(drawn), 50) == expected_walk(drawn)


def test_no_records_are_walked_when_there_are_none() -> None:
    for section in (b"", b"anything"):
        walk = walk_records(section, 0)
        assert (walk.records_count, walk.first_null_key_index) == (0, NOT_FOUND)


def test_timestamps_beyond_int64_are_reported() -> None:
    walk = walk_records(section_of(alike(3)), 3)
    assert walk.max_timestamp(BASE_TIMESTAMP) == BASE_TIMESTAMP
    assert not walk.timestamps_wrap(BASE_TIMESTAMP)
    body = encode_record_body(2**63 - 1, 0, None, None)
    high = walk_records(encode_varint(len(body)) + body, 1)
    assert high.timestamps_wrap(1)
    assert not high.timestamps_wrap(0)
    assert high.min_timestamp(-5) == 2**63 - 6


@pytest.mark.parametrize("value_size", [100, 40])
@pytest.mark.parametrize("key_size", [None, 5])
def test_a_change_anywhere_in_a_run_or_shape_is_seen(value_size: int, key_size: int | None) -> None:
    for growing in (0, 1):
        drawn = alike(
            30,
            key=lambda _: None if key_size is None else bytes(key_size),
            value=lambda index, growing=growing: bytes(value_size + growing * (index % 3)),
        )
        sound = section_of(drawn)
        ends = [len(section_of(drawn[: index + 1])) for index in range(30)]
        for at in range(ends[19], ends[20]):
            for bit in (0x01, 0x02, 0x80):
                section = bytes((*sound[:at], sound[at] ^ bit, *sound[at + 1 :]))
                assert outcome(section, 30) == slow_outcome(section, 30), (at - ends[19], bit)


@pytest.mark.parametrize("value_size", [None, 0, 53, 54, 55, 56, 57, 100, 8184, 8191, 8192])
@pytest.mark.parametrize("key_size", [None, 0, 5, 100])
def test_a_change_anywhere_in_a_lone_record_is_seen(key_size: int | None, value_size: int | None) -> None:
    [record] = alike(
        1,
        key=lambda _: None if key_size is None else bytes(key_size),
        value=lambda _: None if value_size is None else bytes(value_size),
    )
    sound = section_of([record])
    assert walk_records(sound, 1) == expected_walk([record])
    for at in (*range(min(len(sound), 20)), *range(max(0, len(sound) - 3), len(sound))):
        for bit in (0x01, 0x02, 0x80):
            section = bytes((*sound[:at], sound[at] ^ bit, *sound[at + 1 :]))
            assert outcome(section, 1) == slow_outcome(section, 1), (at, bit)
    for section in (sound[:-1], sound + b"\0", sound[:1], b""):
        assert outcome(section, 1) == slow_outcome(section, 1)


def test_a_longer_key_length_in_a_shape_is_not_mistaken_for_a_short_one() -> None:
    drawn = alike(30, key=lambda _: b"12345", value=lambda index: bytes(60 + index % 2))
    lie = framed(b"\x00\x00", encode_varint(20), b"\x84", b"\x7f" * 66, b"\x02v", b"\x00")
    section = section_of(drawn[:20]) + lie + section_of(drawn[21:])
    assert slow_outcome(section, 30) is None
    assert outcome(section, 30) is None


def outcome(section: bytes, count: int) -> RecordsWalk | None:
    try:
        return walk_records(section, count)
    except InvalidRecord:
        return None


def slow_outcome(section: bytes, count: int) -> RecordsWalk | None:
    """The reader's result for the section."""
    header = peek_header(one_record)
    header.records_count = count
    header.batch_length = RECORD_BATCH_OVERHEAD - 12 + len(section)
    try:
        return expected_walk(read_records(header.pack() + section))
    except InvalidRecord:
        return None


# Refused records


def framed(*fields: bytes, length: int | None = None) -> bytes:
    body = b"".join(fields)
    return encode_varint(len(body) if length is None else length) + body


GOOD = framed(b"\x00", b"\x00", b"\x00", b"\x01", b"\x02v", b"\x00")
NULL = encode_varint(-1)
ENDLESS = b"\xff" * 11

# Each is a second record behind a good one; the words are those of a strict reading.
BAD_RECORDS: list[tuple[str, bytes, str]] = [
    ("nothing", b"", "ends after 0 bytes"),
    ("length past the end", framed(b"\x00\x00\x02\x01\x01\x00", length=7), "length 7, 6 bytes left"),
    ("length too short", framed(b"\x00\x00\x02\x01\x01\x00", length=5), "its fields take 6 bytes"),
    ("length zero", framed(length=0), "ends after 0 bytes"),
    ("length negative", framed(b"\x00\x00\x02\x01\x01\x00", length=-6), "length -6"),
    ("key past the end", framed(b"\x00\x00\x02", encode_varint(100), b"k"), "length 100, 1 bytes left"),
    ("value past the end", framed(b"\x00\x00\x02\x01", encode_varint(2**31 - 1)), "length 2147483647, 0 bytes left"),
    ("headers missing", framed(b"\x00\x00\x02\x01\x01"), "ends after 0 bytes"),
    ("headers negative", framed(b"\x00\x00\x02\x01\x01", encode_varint(-1)), "-1 headers"),
    ("headers past the end", framed(b"\x00\x00\x02\x01\x01", encode_varint(3)), "3 headers, 0 bytes left"),
    ("header key null", framed(b"\x00\x00\x02\x01\x01\x02", NULL, NULL), "-1 of a header's key"),
    ("header value past the end", framed(b"\x00\x00\x02\x01\x01\x02\x00", encode_varint(9)), "length 9, 0 bytes left"),
    ("timestamp endless", framed(b"\x00", ENDLESS), "does not end after 10 bytes"),
    ("offset endless", framed(b"\x00\x00", ENDLESS), "does not end after 5 bytes"),
    ("key length endless", framed(b"\x00\x00\x02", ENDLESS), "does not end after 5 bytes"),
    ("attributes alone", framed(b"\x00"), "ends after 0 bytes"),
]


@pytest.mark.parametrize(("record", "words"), [case[1:] for case in BAD_RECORDS], ids=[case[0] for case in BAD_RECORDS])
@pytest.mark.parametrize("reading", STRICT)
def test_strict_readings_refuse_the_first_malformed_record(record: bytes, words: str, reading: RecordReading) -> None:
    with pytest.raises(InvalidRecord, match=words) as raised:
        walk_records(GOOD + record, 2, reading=reading)
    assert raised.value.record_index == 1


def test_a_partial_reading_ignores_lengths() -> None:
    for length in (0, 5, 7, 100, -1, 2**31 - 1):
        section = GOOD + framed(b"\x00\x04\x02\x01\x01\x00", length=length)
        walk = walk_records(section, 2, reading=RecordReading.PARTIAL)
        assert (walk.max_timestamp_delta, walk.first_wrong_offset_index) == (2, NOT_FOUND)


@pytest.mark.parametrize(
    "record",
    [case[1] for case in BAD_RECORDS if not case[0].startswith("length")],
    ids=[case[0] for case in BAD_RECORDS if not case[0].startswith("length")],
)
def test_a_partial_reading_refuses_the_rest(record: bytes) -> None:
    with pytest.raises(InvalidRecord):
        walk_records(GOOD + record, 2, reading=RecordReading.PARTIAL)


def test_an_endless_length_has_an_error_of_its_own_in_a_buffer() -> None:
    with pytest.raises(MalformedVarint):
        walk_records(GOOD + ENDLESS, 2, reading=RecordReading.BUFFER)
    for reading in (RecordReading.STREAM, RecordReading.PARTIAL):
        with pytest.raises(InvalidRecord):
            walk_records(GOOD + ENDLESS, 2, reading=reading)
    # A buffer that ends first is Kafka's premature end, in every reading.
    with pytest.raises(InvalidRecord):
        walk_records(GOOD + b"\xff\xff", 2, reading=RecordReading.BUFFER)


@pytest.mark.parametrize("reading", list(RecordReading))
def test_bytes_after_the_last_record_and_missing_records_are_refused(reading: RecordReading) -> None:
    section = section_of(alike(100))
    with pytest.raises(InvalidRecord, match="bytes after the last record") as raised:
        walk_records(section, 99, reading=reading)
    assert raised.value.record_index == 99
    with pytest.raises(InvalidRecord) as raised:
        walk_records(section, 101, reading=reading)
    assert raised.value.record_index == 100
    with pytest.raises(InvalidRecord, match="1 bytes after"):
        walk_records(section + b"\x00", 100, reading=reading)
    with pytest.raises(InvalidRecord, match="count -1"):
        walk_records(section, -1, reading=reading)


# Hostile bytes


@given(broken_bytes(st.one_of(records(max_size=40), varied()).map(section_of)), st.integers(0, 200))
def test_broken_records_are_read_and_walked_alike(section: bytes, count: int) -> None:
    header = peek_header(one_record)
    header.records_count = count
    header.batch_length = RECORD_BATCH_OVERHEAD - 12 + len(section)
    batch = header.pack() + section
    try:
        found = read_records(batch)
    except RecordBatchError:
        with pytest.raises(RecordBatchError):
            walk_records(section, count)
        with contextlib.suppress(InvalidRecord):
            walk_records(section, count, reading=RecordReading.PARTIAL)
        return
    for reading in RecordReading:
        walk = walk_records(section, count, reading=reading)
        if count:
            if not walk.timestamps_wrap(header.base_timestamp):
                assert walk == expected_walk(found, header.base_timestamp)
            assert walk.records_count == count


@given(broken_bytes(st.one_of(records(max_size=40), varied()).map(section_of)), st.integers(0, 200), st.binary())
def test_a_section_inside_other_bytes_is_walked_as_it_is_alone(section: bytes, count: int, after: bytes) -> None:
    whole = b"before" + section + after
    try:
        inside = walk_records(whole, count, start=6, end=6 + len(section))
    except RecordBatchError:
        inside = None
    try:
        alone = walk_records(section, count)
    except RecordBatchError:
        alone = None
    assert inside == alone


@given(st.binary(max_size=120), st.integers(-2, 2**31 - 1), st.sampled_from(RecordReading))
@example(section=b"\x00" * 50, count=3, reading=RecordReading.PARTIAL)
def test_garbage_raises_batch_errors_only(section: bytes, count: int, reading: RecordReading) -> None:
    with contextlib.suppress(RecordBatchError):
        walk_records(section, count, reading=reading)


@given(broken_bytes(record_batches(max_size=10).map(lambda drawn: drawn[0])))
def test_broken_batches_raise_batch_errors_only(batch: bytes) -> None:
    for use in (
        check_batch,
        peek_header,
        lambda data: read_records(data, limit_bytes=1_000_000),
        lambda data: list(iterate_batches(data)),
        lambda data: list(read_record_set(data, limit_bytes=1_000_000)),
        lambda data: with_offset_and_epoch(data, 1, 1, max_timestamp=1),
    ):
        with contextlib.suppress(RecordBatchError):
            use(batch)


@pytest.mark.parametrize("codec", list(CompressionCodec))
def test_every_byte_of_a_batch_may_be_anything(codec: CompressionCodec) -> None:
    builder = RecordBatchBuilder(codec=codec)
    for index in range(3):
        builder.append(BASE_TIMESTAMP + index, b"key", b"value", [("h", b"x")])
    batch = builder.build()
    for at in range(len(batch)):
        for byte in (0x00, 0x01, 0x7F, 0x80, 0xFF):
            broken = bytes((*batch[:at], byte, *batch[at + 1 :]))
            with contextlib.suppress(RecordBatchError):
                read_records(broken, limit_bytes=100_000)
            with contextlib.suppress(RecordBatchError):
                header = peek_header(broken)
                section = records_section(broken, header, limit_bytes=100_000)
                walk_records(section, header.records_count)


def test_huge_counts_and_lengths_take_no_memory() -> None:
    body = encode_record_body(0, 0, None, b"v")
    sections = [
        section_of(alike(10)),
        encode_varint(2**31 - 1) + body,
        GOOD + framed(b"\x00\x00\x02\x01\x01", encode_varint(2**31 - 1), b"\x00" * 100),
        GOOD + framed(b"\x00\x00\x02", encode_varint(2**31 - 1), b"\x00" * 100),
    ]
    tracemalloc.start()
    try:
        for section in sections:
            for reading in RecordReading:
                with pytest.raises(InvalidRecord):
                    walk_records(section, 2**31 - 1, reading=reading)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000
