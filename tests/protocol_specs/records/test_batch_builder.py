"""Appending one record at a time and many: the same bytes for all sizes, timestamps and offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.fuzzing.strategies import BASE_TIMESTAMP, records
from protocol_specs.records.batch_builder import RecordBatchBuilder, encode_record_body, seal_batch
from protocol_specs.records.record_batch import Record, read_records
from protocol_specs.records.varints import encode_varint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocol_specs.records.batch_builder import RecordTuple


def written_slowly(drawn: list[Record]) -> bytes:
    """The batch by encode_record_body alone, without the builder's tables."""
    base = drawn[0].timestamp
    bodies = [
        encode_record_body(record.timestamp - base, record.offset, record.key, record.value, record.headers)
        for record in drawn
    ]
    return seal_batch(
        b"".join(encode_varint(len(body)) + body for body in bodies),
        base_offset=0,
        partition_leader_epoch=-1,
        attributes=0,
        last_offset_delta=drawn[-1].offset,
        base_timestamp=base,
        max_timestamp=max(record.timestamp for record in drawn),
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        records_count=len(drawn),
    )


def as_tuple(record: Record) -> RecordTuple:
    return record.timestamp, record.key, record.value, record.headers


@given(drawn=records(max_size=80), split=st.integers(0, 80))
def test_append_and_append_many_write_what_encode_record_body_writes(drawn: list[Record], split: int) -> None:
    one, many = RecordBatchBuilder(), RecordBatchBuilder()
    sizes = [one.append(*as_tuple(record)) for record in drawn]
    size = many.append_many(as_tuple(record) for record in drawn[:split])
    size += many.append_many([as_tuple(record) for record in drawn[split:]])
    assert size == sum(sizes)
    assert one.build() == many.build() == written_slowly(drawn)
    assert one.size_in_bytes == many.size_in_bytes == len(one.build())
    assert one.max_timestamp == many.max_timestamp == max(record.timestamp for record in drawn)
    assert one.records_count == many.records_count == len(drawn)


@pytest.mark.parametrize("key", [None, b"key"])
def test_offsets_of_one_two_and_three_bytes_are_written_alike(key: bytes | None) -> None:
    drawn = [
        Record(offset=index, timestamp=BASE_TIMESTAMP + index // 100, key=key, value=b"value") for index in range(8300)
    ]
    one, many = RecordBatchBuilder(), RecordBatchBuilder()
    for record in drawn:
        one.append(*as_tuple(record))
    many.append_many(map(as_tuple, drawn))
    assert one.build() == many.build() == written_slowly(drawn)


@pytest.mark.parametrize("first_gap", [1, 60, 70, 9000])
def test_appending_goes_on_after_a_gap(first_gap: int) -> None:
    offsets = [0, first_gap, first_gap + 1, first_gap + 2]
    builder = RecordBatchBuilder()
    builder.append(BASE_TIMESTAMP, None, b"a")
    builder.append_with_offset(first_gap, BASE_TIMESTAMP, None, b"b")
    builder.append(BASE_TIMESTAMP, None, b"c")
    builder.append_many([(BASE_TIMESTAMP, None, b"d", ())])
    drawn = [
        Record(offset=offset, timestamp=BASE_TIMESTAMP, key=None, value=value)
        for offset, value in zip(offsets, (b"a", b"b", b"c", b"d"), strict=True)
    ]
    assert read_records(builder.build()) == drawn
    assert builder.build() == written_slowly(drawn)


def test_a_record_that_is_refused_leaves_the_batch_as_it_was() -> None:
    wrong: Any = 5
    builder, reference = RecordBatchBuilder(), RecordBatchBuilder()
    with pytest.raises(TypeError):
        builder.append(BASE_TIMESTAMP + 50, None, wrong)
    for target in (builder, reference):
        target.append_with_offset(0, BASE_TIMESTAMP, None, b"a")
    with pytest.raises(TypeError):
        builder.append(BASE_TIMESTAMP + 70, None, wrong)
    with pytest.raises(TypeError):
        builder.append_many([(BASE_TIMESTAMP + 90, None, wrong, ())])
    for target in (builder, reference):
        target.append(BASE_TIMESTAMP + 50, None, b"b")
    assert builder.build() == reference.build()
    assert builder.size_in_bytes == len(builder.build())


def test_append_many_keeps_what_came_before_an_error() -> None:
    def given_records() -> Iterator[RecordTuple]:
        yield BASE_TIMESTAMP, None, b"a", ()
        yield BASE_TIMESTAMP + 1, b"key", b"b", (("name", None),)
        yield BASE_TIMESTAMP + 2, b"key", b"c", ()
        raise LookupError("no more")

    builder = RecordBatchBuilder()
    with pytest.raises(LookupError, match="no more"):
        builder.append_many(given_records())
    assert [record.value for record in read_records(builder.build())] == [b"a", b"b", b"c"]
    assert builder.max_timestamp == BASE_TIMESTAMP + 2
    with pytest.raises(ValueError, match="int64"):
        builder.append_many([(BASE_TIMESTAMP + 3, None, b"d", ()), (1 << 64, None, b"e", ())])
    assert [record.value for record in read_records(builder.build())] == [b"a", b"b", b"c", b"d"]
    assert builder.size_in_bytes == len(builder.build())
