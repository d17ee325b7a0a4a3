"""Rows are the records of a batch, and bytes that no record reader takes are refused in the same words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.errors import ProtocolError
from protocol_specs.fuzzing.strategies import record_batches
from protocol_specs.records import record_rows
from protocol_specs.records.batch_peek import RECORD_BATCH_OVERHEAD, TimestampType
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.record_batch import Record, RecordBatchBuilder, read_records
from protocol_specs.records.record_rows import RowReader, read_rows

if TYPE_CHECKING:
    from collections.abc import Callable

BASE_TIMESTAMP = 27  # its place in the header


def outcome(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except ProtocolError as error:
        return type(error).__name__, str(error)


def read_by_runs(batch: bytes) -> list[Any]:
    """The rows, with a search for runs in small batches too."""
    with patch.object(record_rows, "WORTH_RECORDS", 1):
        return read_rows(batch)


def expected(batch: bytes) -> list[Any]:
    return [(one.offset, one.timestamp, one.key, one.value, one.headers) for one in read_records(batch)]


@given(drawn=record_batches())
def test_rows_are_the_records(drawn: tuple[bytes, list[Record]]) -> None:
    assert read_rows(drawn[0]) == read_by_runs(drawn[0]) == expected(drawn[0])


@pytest.mark.parametrize("step_ms", [0, 1, 40, 9_000, -3])
@pytest.mark.parametrize("sizes", [[100] * 300, [10, 200, 10, 3], [5] * 70 + [6] * 70, list(range(130))])
def test_rows_of_equal_and_unequal_records_are_the_records(sizes: list[int], step_ms: int) -> None:
    builder = RecordBatchBuilder(base_offset=7)
    for index, size in enumerate(sizes):
        builder.append(1_700_000_000_000 + index * step_ms, None if index % 2 else b"k", b"v" * size)
    batch = builder.build()
    assert read_rows(batch) == read_by_runs(batch) == expected(batch)


@given(drawn=record_batches(codec=CompressionCodec.NONE), data=st.data())
def test_changed_bytes_are_taken_or_refused_as_by_the_record_reader(
    drawn: tuple[bytes, list[Record]], data: st.DataObject
) -> None:
    batch = bytearray(drawn[0])
    for _ in range(data.draw(st.integers(1, 3))):
        batch[data.draw(st.integers(57, len(batch) - 1))] = data.draw(st.integers(0, 255))
    changed = bytes(batch)
    wanted = outcome(lambda: expected(changed))
    assert outcome(lambda: read_rows(changed)) == wanted
    assert outcome(lambda: read_by_runs(changed)) == wanted


@given(drawn=record_batches(), worth=st.sampled_from([1, 40]), data=st.data())
def test_portions_are_the_rows_from_an_offset_on(
    drawn: tuple[bytes, list[Record]], worth: int, data: st.DataObject
) -> None:
    wanted = expected(drawn[0])
    first = data.draw(st.integers(-2, len(wanted) + 2)) + (wanted[0][0] if wanted else 0)
    with patch.object(record_rows, "WORTH_RECORDS", worth):
        reader = RowReader(drawn[0], before=("t",), first_offset=first)
    rows: list[Any] = []
    while not reader.is_read:
        count_max = data.draw(st.integers(1, 700))
        portion = reader.portion(count_max)
        found = portion.rows()
        assert 0 < len(found) == portion.count <= count_max
        assert portion.next_offset == found[-1][1] + 1
        rows += found
    assert rows == [("t", *row) for row in wanted if row[0] >= first]


def test_a_long_run_is_read_in_portions_that_end_within_it() -> None:
    builder = RecordBatchBuilder(base_offset=7)
    for index in range(1_700):
        builder.append(1_700_000_000_000 + index // 30, b"k", b"v" * 10)
    batch = builder.build()
    reader = RowReader(batch, first_offset=70)
    portions = [reader.portion(600) for _ in range(3)]
    assert [portion.count for portion in portions] == [600, 600, 437]
    assert reader.is_read
    # In another order than they were taken: each knows its place.
    rows = [portion.rows() for portion in reversed(portions)]
    assert [row for found in reversed(rows) for row in found] == expected(batch)[63:]


@pytest.mark.parametrize("base", [(1 << 63) - 3, -(1 << 63)])
def test_offsets_and_timestamps_wrap_as_in_the_record_reader(base: int) -> None:
    builder = RecordBatchBuilder()
    for index in range(50):
        builder.append(1_000 + index, b"k", b"v" * 8)
    batch = bytearray(builder.build())
    batch[0:8] = batch[BASE_TIMESTAMP : BASE_TIMESTAMP + 8] = base.to_bytes(8, "big", signed=True)
    rows = read_rows(bytes(batch))
    assert rows == expected(bytes(batch))
    wrapped = [(base + index + (1 << 63)) % (1 << 64) - (1 << 63) for index in range(50)]
    assert [row[:2] for row in rows] == [(one, one) for one in wrapped]


def test_a_longer_timestamp_shifts_the_fields_of_its_record_where_log_append_time_replaces_it() -> None:
    builder = RecordBatchBuilder(timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=9_000)
    for index in range(50):
        builder.append(1_000 + index, b"k", b"v" * 8)
    batch = bytearray(builder.build())
    assert read_rows(bytes(batch)) == expected(bytes(batch))
    size = (len(batch) - RECORD_BATCH_OVERHEAD) // 50
    batch[RECORD_BATCH_OVERHEAD + 20 * size + 2] |= 0x80
    rows = read_rows(bytes(batch))
    assert rows == expected(bytes(batch))
    assert [index for index, row in enumerate(rows) if row[2] is None] == [20]


@pytest.mark.parametrize("sizes", [[8] * 50, [1, 2, 3, 4, 5, 6, 7, 8], [300, 70_000]])
def test_rows_have_what_is_given_before_and_after(sizes: list[int]) -> None:
    builder = RecordBatchBuilder()
    for size in sizes:
        builder.append(1_000, b"k", b"v" * size)
    batch = builder.build()
    assert read_rows(batch, before=("t", 3), after=(9,)) == [("t", 3, *row, 9) for row in expected(batch)]


@pytest.mark.parametrize("sizes", [[8] * 40, [1, 2, 3, 4, 5, 6, 7, 8], [300, 70_000]])
def test_rows_are_made_by_the_given_function(sizes: list[int]) -> None:
    builder = RecordBatchBuilder()
    for size in sizes:
        builder.append(1_000, None, b"v" * size)
    batch = builder.build()
    assert read_rows(batch, make=list) == [list(row) for row in expected(batch)]
