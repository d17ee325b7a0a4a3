"""The open batch of a shard equals what a builder makes of its records, and takes what fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_sim.coordinators.coordinator_error import CoordinatorError
from broker_sim.coordinators.runtime.open_batch import OpenBatch
from protocol_specs.records.batch_peek import MAGIC_V2
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.message_set_builder import MessageSetBuilder, message_size
from protocol_specs.records.record_batch import RecordBatchBuilder, record_size_upper_bound

SIZES = st.integers(0, 300)
RECORDS = st.tuples(SIZES.map(bytes), st.none() | SIZES.map(bytes))
GROUPS = st.lists(st.lists(RECORDS, min_size=1, max_size=3), min_size=1, max_size=6)


@given(
    groups=GROUPS,
    magic=st.sampled_from([0, 1, MAGIC_V2, MAGIC_V2]),
    codec=st.sampled_from([CompressionCodec.NONE, CompressionCodec.GZIP]),
    producer=st.sampled_from([(-1, -1), (7, 2)]),
    sequence=st.integers(-1, 0),
    limit=st.integers(0, 1500) | st.just(10_000),
)
def test_it_takes_what_fits_and_has_the_bytes_of_the_builder(
    groups: list[list[tuple[bytes, bytes | None]]],
    magic: int,
    codec: CompressionCodec,
    producer: tuple[int, int],
    sequence: int,
    limit: int,
) -> None:
    builder: RecordBatchBuilder | MessageSetBuilder
    if magic == MAGIC_V2:
        builder = RecordBatchBuilder(
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=sequence,
            is_transactional=producer[0] >= 0,
            codec=codec,
        )
    else:
        producer = (-1, -1)
        builder = MessageSetBuilder(magic=magic, codec=codec)
    batch = OpenBatch(*producer, base_sequence=sequence, magic=magic, codec=codec)
    count = 0
    for number, records in enumerate(groups):
        sizes = [
            record_size_upper_bound(*record) if magic == MAGIC_V2 else message_size(magic, *record)
            for record in records
        ]
        fits = builder.size_in_bytes + sum(sizes) <= limit
        assert batch.add(records, 1_000 + number, limit) == fits
        if fits:
            count += len(records)
            for record in records:
                builder.append(1_000 + number, *record)
        assert batch.records_count == count
    if count:
        assert bytes(batch.build()) == builder.build()


@pytest.mark.parametrize(("producer", "magic"), [((7, -1), MAGIC_V2), ((7, 0), 1), ((7, -1), 0)])
def test_a_producer_needs_an_epoch_and_batches(producer: tuple[int, int], magic: int) -> None:
    with pytest.raises(CoordinatorError):
        OpenBatch(*producer, magic=magic)
