"""A batch of one record equals that of RecordBatchBuilder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.records.lone_batch import lone_batch
from protocol_specs.records.record_batch import RecordBatchBuilder, peek_header

SIZES = st.integers(0, 200) | st.sampled_from([8191, 8192, 20_000])


@given(
    timestamp_ms=st.integers(-1, 2**63 - 1),
    key=SIZES.map(bytes),
    value=SIZES.map(bytes),
    flags=st.sampled_from([(False, False), (True, False), (True, True)]),
    numbers=st.tuples(
        st.integers(0, 2**63 - 1),
        st.integers(-1, 9),
        st.integers(-1, 2**63 - 1),
        st.integers(-1, 9),
        st.integers(-1, 9),
    ),
)
def test_it_has_the_bytes_of_the_builder(
    timestamp_ms: int, key: bytes, value: bytes, flags: tuple[bool, bool], numbers: tuple[int, int, int, int, int]
) -> None:
    transactional, control = flags
    base_offset, leader_epoch, *producer = numbers
    fields = dict(zip(("producer_id", "producer_epoch", "base_sequence"), producer, strict=True))
    builder = RecordBatchBuilder(
        is_transactional=transactional,
        is_control=control,
        base_offset=base_offset,
        partition_leader_epoch=leader_epoch,
        **fields,
    )
    builder.append(timestamp_ms, key, value)
    batch = lone_batch(timestamp_ms, key, value, attributes=16 * transactional + 32 * control, **fields)
    assert batch.placed(base_offset, leader_epoch) == builder.build()
    header = peek_header(bytes(batch))
    assert (header.base_offset, header.partition_leader_epoch, len(batch)) == (0, -1, len(bytes(batch)))
    assert (batch.timestamp_ms, batch.attributes) == (header.max_timestamp, header.attributes)
    assert (batch.producer_id, batch.producer_epoch) == (header.producer_id, header.producer_epoch)
    assert batch.base_sequence == header.base_sequence


def test_a_field_that_does_not_fit_is_refused() -> None:
    with pytest.raises(Exception, match="format"):
        lone_batch(0, b"", b"", producer_epoch=1 << 15)
