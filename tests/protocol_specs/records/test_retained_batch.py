from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.fuzzing.strategies import record_batches
from protocol_specs.records.record_batch import (
    Record,
    TimestampType,
    check_batch,
    empty_batch,
    peek_header,
    read_records,
    with_offset_and_epoch,
)
from protocol_specs.records.retained_batch import retained_batch


def with_horizon(batch: bytes, horizon: int | None) -> bytes:
    return retained_batch(peek_header(batch), read_records(batch), delete_horizon_ms=horizon)


@given(record_batches(), st.integers(0, 2**42))
def test_a_horizon_replaces_the_base_timestamp(drawn: tuple[bytes, list[Record]], horizon: int) -> None:
    batch, expected = drawn
    kept = with_horizon(batch, horizon)
    header, before = check_batch(kept), peek_header(batch)
    assert before.delete_horizon_ms is None
    assert header.delete_horizon_ms == header.base_timestamp == horizon
    assert read_records(kept) == expected
    changed = {"crc", "batch_length", "base_timestamp", "attributes"}
    assert {name: getattr(header, name) for name in type(header).__slots__ if name not in changed} == {
        name: getattr(before, name) for name in type(before).__slots__ if name not in changed
    }
    assert header.attributes == before.attributes | 0x40
    assert with_horizon(kept, horizon) == kept


@given(record_batches(), st.data())
def test_the_retained_records_keep_their_offsets_and_the_header_its_range(
    drawn: tuple[bytes, list[Record]], data: st.DataObject
) -> None:
    batch, expected = drawn
    retained = [record for record in expected if data.draw(st.booleans())] or expected[:1]
    kept = retained_batch(peek_header(batch), retained)
    header, before = check_batch(kept), peek_header(batch)
    assert read_records(kept) == retained
    assert (header.base_offset, header.last_offset) == (before.base_offset, before.last_offset)
    if header.timestamp_type is TimestampType.CREATE_TIME:
        assert header.max_timestamp == max(record.timestamp for record in retained)
    else:
        assert header.max_timestamp == before.max_timestamp


@given(record_batches(), st.integers(0, 2**42))
def test_a_leaders_stamp_keeps_the_horizon_and_an_empty_batch_does_not(
    drawn: tuple[bytes, list[Record]], horizon: int
) -> None:
    kept = with_horizon(drawn[0], horizon)
    stamped = with_offset_and_epoch(kept, 0, 3, max_timestamp=9, timestamp_type=TimestampType.LOG_APPEND_TIME)
    assert check_batch(stamped).delete_horizon_ms == horizon
    assert check_batch(empty_batch(peek_header(kept))).delete_horizon_ms is None


@given(record_batches())
def test_a_negative_horizon_and_a_batch_without_records_are_refused(drawn: tuple[bytes, list[Record]]) -> None:
    batch = drawn[0]
    with pytest.raises(ValueError, match="delete horizon -1 is negative"):
        with_horizon(batch, -1)
    with pytest.raises(ValueError, match="no records are retained"):
        retained_batch(peek_header(batch), [])
