"""The columns of several batches are their records."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.errors import InvalidRecord, TruncatedRecordBatch
from protocol_specs.fuzzing.strategies import record_batches
from protocol_specs.records.batch_peek import RECORD_BATCH_OVERHEAD, TimestampType
from protocol_specs.records.columnar.joined_reader import read_joined
from protocol_specs.records.message_set_builder import MessageSetBuilder
from protocol_specs.records.record_batch import CompressionCodec, Record, RecordBatchBuilder, read_records
from protocol_specs.records.record_set import read_any

APPEND_TIME = 9_000


def append_time_batch() -> bytes:
    """40 equal records of LogAppendTime."""
    builder = RecordBatchBuilder(timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=APPEND_TIME)
    for index in range(40):
        builder.append(1_000 + index, b"k", b"v" * 10)
    return builder.build()


def equal(
    offset: int, count: int, size: int, step_ms: int = 1, codec: CompressionCodec = CompressionCodec.NONE
) -> bytes:
    builder = RecordBatchBuilder(base_offset=offset, codec=codec)
    for index in range(count):
        builder.append(1_700_000_000_000 + index * step_ms, b"key", b"v" * size)
    return builder.build()


def in_one_response(batches: list[bytes], header: bytes) -> list[bytes | memoryview]:
    """The same batches as parts of one buffer."""
    response = memoryview(header + b"".join(batches))
    ends = list(accumulate(map(len, batches), initial=len(header)))
    return [response[start:end] for start, end in pairwise(ends)]


@given(drawn=st.lists(record_batches(), min_size=1, max_size=4))
def test_columns_are_the_records_of_all_batches(drawn: list[tuple[bytes, list[Record]]]) -> None:
    batches = [batch for batch, _ in drawn]
    records = [record for _, of_batch in drawn for record in of_batch]
    assert read_joined(batches).to_records() == records
    assert read_joined(in_one_response(batches, b"header")).to_records() == records


@pytest.mark.parametrize("codec", [CompressionCodec.NONE, CompressionCodec.GZIP])
def test_the_batches_of_a_response_are_read_where_they_are(codec: CompressionCodec) -> None:
    batches = [equal(0, 200, 10), equal(200, 5, 300, codec=codec), equal(205, 70, 10)]
    columns = read_joined(in_one_response(batches, b"header"))
    assert columns.to_records() == [record for batch in batches for record in read_records(batch)]
    assert (columns.value.data.size == len(b"header" + b"".join(batches))) is (codec is CompressionCodec.NONE)


@pytest.mark.parametrize("step_ms", [0, 1, 50, 10_000])
def test_batches_of_equal_records_are_read_together(step_ms: int) -> None:
    batches = [equal(0, 200, 10, step_ms), equal(200, 5, 300, step_ms), equal(205, 70, 10, step_ms)]
    records = [record for batch in batches for record in read_records(batch)]
    assert read_joined(batches).to_records() == records


def test_compressed_batches_and_old_message_sets_are_among_them() -> None:
    builder = MessageSetBuilder(magic=1, base_offset=400)
    builder.append(1_000, b"k", b"old")
    batches = [equal(0, 100, 10), equal(100, 100, 10, codec=CompressionCodec.GZIP)]
    assert [one.value for one in read_joined(batches).to_records()] == [b"v" * 10] * 200
    mixed = [*batches, builder.build()]
    assert read_joined(mixed).to_records() == [record for batch in mixed for record in read_any(batch)]
    assert read_joined([]).records_count == 0


def test_log_append_time_counts_for_every_record_of_its_batch() -> None:
    batches = [append_time_batch(), equal(0, 30, 10)]
    records = [record for batch in batches for record in read_records(batch)]
    assert {record.timestamp for record in records[:40]} == {APPEND_TIME}
    assert read_joined(batches).to_records() == records
    assert read_joined(batches[:1]).to_records() == records[:40]


def test_equal_sizes_of_keys_and_values_are_known() -> None:
    columns = read_joined([equal(0, 200, 10), equal(200, 70, 10)])
    assert (columns.key.equal_size, columns.value.equal_size) == (3, 10)
    columns = read_joined([equal(0, 200, 10), equal(200, 70, 11)])
    assert (columns.key.equal_size, columns.value.equal_size) == (3, None)
    assert read_joined([append_time_batch()]).key.size_range == (1, 1)


def test_null_keys_of_all_records_are_null() -> None:
    builder = RecordBatchBuilder()
    for index in range(70):
        builder.append(1_000 + index, None, b"v" * 10)
    columns = read_joined([builder.build()])
    assert list(columns.key) == [None] * 70
    assert columns.key.equal_size == -1


def test_a_longer_timestamp_shifts_the_fields_of_its_record_where_log_append_time_replaces_it() -> None:
    batch = bytearray(append_time_batch())
    size = (len(batch) - RECORD_BATCH_OVERHEAD) // 40
    batch[RECORD_BATCH_OVERHEAD + 20 * size + 2] |= 0x80
    records = read_records(bytes(batch))
    assert [index for index, record in enumerate(records) if record.key is None] == [20]
    assert read_joined([bytes(batch)]).to_records() == records


def test_a_broken_batch_is_refused() -> None:
    broken = bytearray(equal(0, 50, 10))
    broken[61] = 0x7F
    with pytest.raises(InvalidRecord):
        read_joined([equal(0, 50, 10), bytes(broken)])


def test_a_record_that_continues_in_the_next_batch_of_the_response_is_refused() -> None:
    batch = bytearray(equal(0, 50, 10))
    size = (len(batch) - RECORD_BATCH_OVERHEAD) // 50
    last = len(batch) - size
    batch[last] += 2 * RECORD_BATCH_OVERHEAD
    with pytest.raises(InvalidRecord):
        read_joined(in_one_response([bytes(batch), equal(50, 50, 10)], b""))


def test_a_batch_that_ends_within_its_last_record_is_refused() -> None:
    batch = equal(0, 50, 10)
    with pytest.raises(TruncatedRecordBatch):
        read_joined([memoryview(batch + batch)[: len(batch) - 1]])
