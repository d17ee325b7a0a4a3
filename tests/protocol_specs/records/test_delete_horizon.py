from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.errors import ChecksumMismatch, InvalidRecord
from protocol_specs.fuzzing.strategies import record_batches
from protocol_specs.records.delete_horizon import with_delete_horizon
from protocol_specs.records.record_batch import (
    Record,
    TimestampType,
    check_batch,
    empty_batch,
    peek_header,
    read_records,
    with_offset_and_epoch,
)


@given(record_batches(), st.integers(0, 2**42))
def test_a_horizon_takes_the_place_of_the_base_timestamp(drawn: tuple[bytes, list[Record]], horizon: int) -> None:
    batch, expected = drawn
    kept = with_delete_horizon(batch, horizon)
    header, before = check_batch(kept), peek_header(batch)
    assert before.delete_horizon_ms is None
    assert header.delete_horizon_ms == header.base_timestamp == horizon
    assert read_records(kept) == expected
    changed = {"crc", "batch_length", "base_timestamp", "attributes"}
    assert {name: getattr(header, name) for name in type(header).__slots__ if name not in changed} == {
        name: getattr(before, name) for name in type(before).__slots__ if name not in changed
    }
    assert header.attributes == before.attributes | 0x40
    assert with_delete_horizon(kept, horizon) == kept


@given(record_batches(), st.integers(0, 2**42))
def test_a_leaders_stamp_keeps_the_horizon_and_an_empty_batch_does_not(
    drawn: tuple[bytes, list[Record]], horizon: int
) -> None:
    kept = with_delete_horizon(drawn[0], horizon)
    stamped = with_offset_and_epoch(kept, 0, 3, max_timestamp=9, timestamp_type=TimestampType.LOG_APPEND_TIME)
    assert check_batch(stamped).delete_horizon_ms == horizon
    assert check_batch(empty_batch(peek_header(kept))).delete_horizon_ms is None


@given(record_batches())
def test_what_has_no_horizon_is_refused(drawn: tuple[bytes, list[Record]]) -> None:
    batch = drawn[0]
    with pytest.raises(ValueError, match="delete horizon -1 is negative"):
        with_delete_horizon(batch, -1)
    with pytest.raises(InvalidRecord, match="a batch of 0 records"):
        with_delete_horizon(empty_batch(replace(peek_header(batch))), 5)
    with pytest.raises(ChecksumMismatch):
        with_delete_horizon(batch[:21] + bytes((batch[21] ^ 1,)) + batch[22:], 5)
