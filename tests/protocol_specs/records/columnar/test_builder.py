"""Batches of columns are the bytes of a RecordBatchBuilder to which the same records are appended."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.fuzzing.strategies import BASE_TIMESTAMP, codecs, records
from protocol_specs.records.columnar.builder import build_batches
from protocol_specs.records.columnar.columns import HeadersColumn, RecordColumns, StringColumn
from protocol_specs.records.columnar.reader import read_columns
from protocol_specs.records.record_batch import (
    CompressionCodec,
    Record,
    RecordBatchBuilder,
    TimestampType,
    check_batch,
    peek_header,
    read_record_set,
    read_records,
)

if TYPE_CHECKING:
    from protocol_specs.records.record_batch import Header


def appended(drawn: list[Record], **options: Any) -> bytes:
    builder = RecordBatchBuilder(**options)
    for record in drawn:
        builder.append(record.timestamp, record.key, record.value, record.headers)
    return builder.build()


def without_offset(drawn: list[Record]) -> RecordColumns:
    return RecordColumns.of_records(drawn, ("timestamp", "key", "value", "headers"))


def load(seed: int, count: int) -> list[Record]:
    chance = random.Random(seed)
    sizes = chance.choice([(100,), (0, 1, 62, 63, 64, 65), (8190, 8191, 8192, 8193), (3, 5, 600, 70, 20_000)])
    pace = chance.choice([0, 1, 100, 10**7, 10**15])
    names = ["a", "", "é" * 33]
    drawn = []
    for index in range(count):
        headers: tuple[Header, ...] = ()
        if seed % 3 == 0:
            headers = tuple((chance.choice(names), chance.choice([None, b"", b"v" * 64])) for _ in range(index % 4))
        drawn.append(
            Record(
                offset=index,
                timestamp=BASE_TIMESTAMP + chance.randint(-pace, pace),
                key=None if chance.random() < 0.3 else chance.randbytes(chance.choice(sizes)),
                value=None if chance.random() < 0.3 else chance.randbytes(chance.choice(sizes)),
                headers=headers,
            )
        )
    return drawn


@given(drawn=records(max_size=80), codec=codecs())
def test_columns_are_written_byte_for_byte(drawn: list[Record], codec: CompressionCodec) -> None:
    assert build_batches(without_offset(drawn), codec=codec) == [appended(drawn, codec=codec)]


@pytest.mark.parametrize("seed", range(24))
def test_columns_of_any_load_are_written_byte_for_byte(seed: int) -> None:
    drawn = load(seed, 150)
    batch = appended(drawn)
    assert build_batches(without_offset(drawn)) == [batch]
    assert build_batches(read_columns(batch)) == [batch]


@pytest.mark.parametrize("count", [1, 64, 65, 8192, 8193])
def test_offsets_of_every_width_are_written(count: int) -> None:
    drawn = [Record(offset=index, timestamp=BASE_TIMESTAMP, key=None, value=b"v") for index in range(count)]
    assert build_batches(without_offset(drawn)) == [appended(drawn)]


def test_the_header_has_what_is_given() -> None:
    drawn = load(1, 40)
    options: dict[str, Any] = {
        "codec": CompressionCodec.LZ4,
        "timestamp_type": TimestampType.LOG_APPEND_TIME,
        "log_append_time": BASE_TIMESTAMP + 9,
        "base_offset": 77,
        "partition_leader_epoch": 3,
        "producer_id": 4000,
        "producer_epoch": 5,
        "base_sequence": 6,
        "is_transactional": True,
        "is_control": True,
    }
    assert build_batches(without_offset(drawn), **options) == [appended(drawn, **options)]


@given(drawn=records(max_size=60), limit_bytes=st.integers(500, 3000), codec=codecs())
def test_batches_are_as_full_as_their_limit_allows(
    drawn: list[Record], limit_bytes: int, codec: CompressionCodec
) -> None:
    columns = without_offset(drawn)
    batches = build_batches(columns, max_batch_bytes=limit_bytes, base_offset=5, producer_id=1, producer_epoch=0,
                            base_sequence=2**31 - 3, codec=codec)  # fmt: skip
    assert [
        (record.offset - 5, record.timestamp, record.key, record.value, record.headers)
        for record in read_record_set(b"".join(batches))
    ] == [(record.offset, record.timestamp, record.key, record.value, record.headers) for record in drawn]
    first = 0
    for batch in batches:
        header = check_batch(batch)
        assert header.base_sequence == (2**31 - 3 + first) % 2**31
        taken = drawn[first : first + header.records_count]
        alone = appended(taken, base_offset=5 + first, producer_id=1, producer_epoch=0,
                         base_sequence=header.base_sequence, codec=codec)  # fmt: skip
        assert batch == alone
        first += header.records_count
        assert len(appended(taken)) <= limit_bytes
        if first < len(drawn):
            assert len(appended([*taken, drawn[first]])) > limit_bytes


def test_a_record_that_no_batch_holds_is_refused() -> None:
    drawn = [
        Record(offset=index, timestamp=BASE_TIMESTAMP, key=None, value=bytes(10 + 500 * (index == 2)))
        for index in range(5)
    ]
    size = len(appended([drawn[2]]))
    with pytest.raises(ValueError, match=f"record 2 takes a batch of {size} bytes, max_batch_bytes is {size - 1}"):
        build_batches(without_offset(drawn), max_batch_bytes=size - 1)
    assert len(build_batches(without_offset(drawn), max_batch_bytes=size)) == 3


def test_offsets_of_the_column_leave_their_gaps() -> None:
    columns = RecordColumns(
        offset=[10, 12, 90, 9000], timestamp=[BASE_TIMESTAMP] * 4, value=StringColumn.of([b"a", b"b", None, b"d"])
    )
    builder = RecordBatchBuilder(base_offset=10)
    for offset, value in zip(columns.offset.tolist(), columns.value, strict=True):
        builder.append_with_offset(offset, BASE_TIMESTAMP, None, value)
    assert build_batches(columns) == [builder.build()]
    assert [record.offset for record in read_records(build_batches(columns, base_offset=3)[0])] == [3, 4, 5, 6]
    split = build_batches(columns, max_batch_bytes=70)
    assert [peek_header(batch).base_offset for batch in split] == [10, 12, 90, 9000]


def test_no_records_make_no_batch() -> None:
    assert build_batches(RecordColumns(timestamp=[], value=StringColumn.of([]))) == []


def test_columns_that_cannot_be_written_are_named() -> None:
    value = StringColumn.of([b"a", b"b"])
    with pytest.raises(ValueError, match="column timestamp is not here"):
        build_batches(RecordColumns(value=value))
    with pytest.raises(ValueError, match="offset 4 is not after the one before it, 4"):
        build_batches(RecordColumns(offset=[4, 4], timestamp=[1, 2], value=value))
    with pytest.raises(ValueError, match="varint 2147483648 is outside of the int32 range"):
        build_batches(RecordColumns(offset=[0, 1 << 31], timestamp=[1, 2], value=value))
    with pytest.raises(ValueError, match="varlong -9223372036854775809 is outside of the int64 range"):
        build_batches(RecordColumns(timestamp=[1, -(1 << 63)], value=value))
    outside = StringColumn(np.zeros(5, np.uint8), np.array([0, 3]), np.array([1, 3]))
    with pytest.raises(ValueError, match="column value has a string outside of its data of 5 bytes"):
        build_batches(RecordColumns(timestamp=[1, 2], value=outside))
    nameless = HeadersColumn(np.array([0, 0, 1]), StringColumn.of([None]), StringColumn.of([b"x"]))
    with pytest.raises(ValueError, match="header 0 has no key"):
        build_batches(RecordColumns(timestamp=[1, 2], value=value, headers=nameless))
    wrong = HeadersColumn(np.array([0, 2, 1]), StringColumn.of([b"a"]), StringColumn.of([b"x"]))
    with pytest.raises(ValueError, match="offsets of headers must ascend from 0 to 1"):
        build_batches(RecordColumns(timestamp=[1, 2], value=value, headers=wrong))
