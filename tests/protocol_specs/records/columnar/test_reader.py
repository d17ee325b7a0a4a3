"""Columns of a batch are the records of it, and bytes that no record reader takes are refused in the same words."""

from __future__ import annotations

import random
import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.errors import DecompressionLimitExceeded, InvalidRecord, ProtocolError, TruncatedRecordBatch
from protocol_specs.fuzzing.strategies import BASE_TIMESTAMP, record_batches
from protocol_specs.records.columnar import reader as columnar_reader
from protocol_specs.records.columnar.reader import read_batch_columns, read_columns
from protocol_specs.records.record_batch import (
    CompressionCodec,
    Record,
    RecordBatchBuilder,
    TimestampType,
    encode_record_body,
    peek_header,
    read_record_set,
    read_records,
    seal_batch,
)
from protocol_specs.records.varints import encode_varint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from protocol_specs.records.record_batch import Header

Reading = list[Record] | tuple[str, str]


@pytest.fixture(autouse=True, scope="module")
def short_batches_are_read_by_numpy() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columnar_reader, "_FEW_RECORDS", 1)
        yield


def outcome(read: Callable[[], list[Record]]) -> Reading:
    """The result of reading, or its error; attributes of records are no column."""
    try:
        return [replace(record, attributes=0) for record in read()]
    except ProtocolError as error:
        return type(error).__name__, str(error)


def built(records: list[tuple[int, bytes | None, bytes | None, tuple[Header, ...]]], **options: int) -> bytes:
    builder = RecordBatchBuilder(**options)
    builder.append_many(records)
    return builder.build()


def of_records(bodies: list[bytes], *, count: int | None = None) -> bytes:
    """A batch around bodies of records as they are."""
    return seal_batch(
        b"".join(encode_varint(len(body)) + body for body in bodies),
        base_offset=0,
        partition_leader_epoch=-1,
        attributes=0,
        last_offset_delta=len(bodies) - 1,
        base_timestamp=BASE_TIMESTAMP,
        max_timestamp=BASE_TIMESTAMP,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        records_count=len(bodies) if count is None else count,
    )


def load(seed: int, count: int) -> bytes:
    """A batch like those of some producer: equal or varied sizes, keys, nulls, headers, any pace of timestamps."""
    chance = random.Random(seed)
    least, most = chance.choice([(0, 3), (100, 100), (50, 150), (0, 300), (9000, 9000), (60, 70)])
    key_sizes = chance.choice([(None,), (8,), (0, 8, 40), (None, 3), (None, 64, 70)])
    pace, back = chance.choice([0, 1, 100, 10_000, 10**9, 10**14]), chance.choice([0, 0, 5])
    null_value, with_headers = chance.choice([0, 0, 0.1, 1]), chance.choice([0, 0, 0.1, 1])
    odd_one = chance.choice([None, None, chance.randrange(count)])
    records = []
    timestamp = BASE_TIMESTAMP
    for index in range(count):
        timestamp += chance.randint(-back, pace) if pace > 1 else index % 2 * pace
        key_size = chance.choice(key_sizes)
        value = None if chance.random() < null_value else chance.randbytes(chance.randint(least, most))
        headers: tuple[Header, ...] = ()
        if chance.random() < with_headers or index == odd_one:
            names = ["trace", "x", "", "é" * 40]
            headers = tuple(
                (chance.choice(names), chance.choice([None, b"", b"v" * 70])) for _ in range(chance.choice([1, 2, 5]))
            )
        records.append((timestamp, None if key_size is None else chance.randbytes(key_size), value, headers))
    return built(records)


@given(drawn=record_batches())
def test_columns_are_the_records(drawn: tuple[bytes, list[Record]]) -> None:
    batch, records = drawn
    assert read_batch_columns(batch).to_records() == records
    assert read_columns(batch).to_records() == records


@pytest.mark.parametrize("seed", range(60))
def test_columns_of_any_load_are_the_records(seed: int) -> None:
    batch = load(seed, random.Random(seed).choice([25, 63, 64, 65, 130, 700]))
    assert read_columns(batch).to_records() == read_records(batch)


@pytest.mark.parametrize("count", [8191, 8192, 8193, 17_000])
def test_offsets_of_three_bytes_are_read(count: int) -> None:
    batch = built([(BASE_TIMESTAMP + index // 50, None, b"value", ()) for index in range(count)])
    assert read_columns(batch).to_records() == read_records(batch)


@given(drawn=record_batches(codec=CompressionCodec.NONE), data=st.data())
def test_changed_bytes_are_taken_or_refused_as_by_the_record_reader(
    drawn: tuple[bytes, list[Record]], data: st.DataObject
) -> None:
    batch = bytearray(drawn[0])
    for _ in range(data.draw(st.integers(1, 3))):
        batch[data.draw(st.integers(57, len(batch) - 1))] = data.draw(st.integers(0, 255))
    changed = bytes(batch)
    assert outcome(lambda: read_batch_columns(changed).to_records()) == outcome(lambda: read_records(changed))


@pytest.mark.parametrize("seed", range(30))
def test_changed_bytes_of_a_load_are_taken_or_refused_as_by_the_record_reader(seed: int) -> None:
    chance = random.Random(seed)
    batch = load(seed, 70)
    for _ in range(40):
        changed = bytearray(batch)
        for _ in range(chance.choice([1, 1, 2, 5])):
            changed[chance.randrange(57, len(changed))] = chance.choice([0, 1, 2, 0x7F, 0x80, 0x81, 0xFF])
        frozen = bytes(changed)
        assert outcome(lambda b=frozen: read_batch_columns(b).to_records()) == outcome(lambda b=frozen: read_records(b))


@pytest.mark.parametrize(
    "columns", [("offset", "value"), ("timestamp",), ("headers", "key"), ("key",), ("value", "offset"), ()]
)
@pytest.mark.parametrize("seed", [1, 2, 3, 11])
def test_only_the_named_columns_are_made(columns: tuple[str, ...], seed: int) -> None:
    batch = load(seed, 100)
    everything, some = read_columns(batch), read_columns(batch, columns=columns)
    assert some.columns == tuple(name for name in everything.columns if name in columns)
    for name in columns:
        assert list(getattr(some, name)) == list(getattr(everything, name))
    missing = next(name for name in everything.columns if name not in columns)
    with pytest.raises(ValueError, match=f"column {missing} is not here: name it in columns="):
        getattr(some, missing)


def test_a_column_that_does_not_exist_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'values' does not exist; the columns of records are offset, timestamp, key"):
        read_columns(b"", columns=("offset", "values"))


def test_a_record_set_is_read_as_one_and_a_truncated_batch_at_its_end_left_out() -> None:
    batches = [load(seed, 40) for seed in range(6)]
    buffer = b"".join(batches) + batches[0][:-1]
    columns = read_columns(buffer)
    assert columns.to_records() == list(read_record_set(buffer))
    assert len(columns) == 240
    assert len(read_columns(b"")) == 0
    assert read_columns(b"").columns == ("offset", "timestamp", "key", "value", "headers")
    with pytest.raises(TruncatedRecordBatch):
        read_batch_columns(batches[0][:-1])


@pytest.mark.parametrize("codec", list(CompressionCodec))
def test_every_codec_is_read(codec: CompressionCodec) -> None:
    batch = built([(BASE_TIMESTAMP + index, b"k", b"v" * index, ()) for index in range(100)], codec=codec)
    assert read_columns(batch).to_records() == read_records(batch)


def test_log_append_time_counts_for_every_record() -> None:
    batch = built(
        [(BASE_TIMESTAMP + index, None, b"v" * (index % 3), ()) for index in range(100)],
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        log_append_time=BASE_TIMESTAMP + 5,
    )
    assert set(read_columns(batch).timestamp.tolist()) == {BASE_TIMESTAMP + 5}


@pytest.mark.parametrize("delta", [1 << 56, (1 << 63) - 1, -(1 << 63), 1 << 48, -(1 << 48)])
def test_timestamps_wrap_as_in_the_record_reader(delta: int) -> None:
    bodies = [encode_record_body(delta if index % 2 else 0, index, None, b"v") for index in range(40)]
    batch = of_records(bodies)
    assert read_columns(batch).to_records() == read_records(batch)


def test_longer_spellings_of_numbers_are_read() -> None:
    bodies = [encode_record_body(0, index, None, b"v") for index in range(40)]
    # Each with a length of the null key that takes two bytes, or four.
    spelled = [body[:2] + body[2:3] + b"\x81\x00" + body[4:] for body in bodies]
    spelled[7] = bodies[7][:3] + b"\x81\x80\x80\x00" + bodies[7][4:]
    batch = of_records(spelled)
    assert read_columns(batch).to_records() == read_records(batch)
    too_long = [*bodies[:39], bodies[39][:3] + b"\x81\x80\x80\x80\x80\x00" + bodies[39][4:]]
    with pytest.raises(InvalidRecord, match="does not end after 5 bytes"):
        read_columns(of_records(too_long))


@pytest.mark.parametrize("headers", [1, 32, 33, 500])
def test_many_headers_are_read(headers: int) -> None:
    bodies = [
        encode_record_body(0, index, None, b"v", [(f"h{nth}", b"x") for nth in range(headers if index == 20 else 0)])
        for index in range(40)
    ]
    batch = of_records(bodies)
    assert read_columns(batch).to_records() == read_records(batch)


def test_a_header_key_that_is_not_utf_8_is_kept_as_bytes_and_read_with_replacements() -> None:
    body = encode_record_body(0, 0, None, b"v", [("ab", b"x")]).replace(b"ab", b"\xff\xfe")
    columns = read_columns(of_records([body]))
    assert columns.headers.key[0] == b"\xff\xfe"
    assert list(columns.headers) == [(("\ufffd\ufffd", b"x"),)]


@pytest.mark.parametrize("count", [-1, 1_000, (1 << 31) - 1])
def test_a_count_that_the_bytes_cannot_hold_allocates_nothing(count: int) -> None:
    batch = of_records([encode_record_body(0, index, None, b"") for index in range(5)], count=count)
    assert peek_header(batch).records_count == count
    tracemalloc.start()
    try:
        with pytest.raises(InvalidRecord):
            read_columns(batch)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_headers_that_the_bytes_cannot_hold_allocate_little() -> None:
    bodies = [b"\x00\x00" + encode_varint(index) + b"\x01\x01" + encode_varint(32) for index in range(2_000)]
    batch = of_records(bodies)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidRecord):
            read_columns(batch)
        assert tracemalloc.get_traced_memory()[1] < 100 * len(batch)
    finally:
        tracemalloc.stop()


def test_decompression_is_bounded_for_all_batches_together() -> None:
    batch = built([(BASE_TIMESTAMP, None, bytes(1000), ()) for _ in range(50)], codec=CompressionCodec.GZIP)
    assert len(read_columns(batch * 3, limit_bytes=160_000)) == 150
    with pytest.raises(DecompressionLimitExceeded, match="limit_bytes=120000"):
        read_columns(batch * 3, limit_bytes=120_000)
