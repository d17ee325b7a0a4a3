"""Batches: when they are full, how they end, how they are cut."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_client.core.batching.compression_ratio import CompressionRatioEstimator
from broker_client.core.batching.producer_batch import Compression, ProducerBatch, ProducerIdAndEpoch
from broker_client.errors import ProducerClosed, ProducerError
from broker_client.records import TopicPartition
from protocol_specs.records.batch_peek import check_batch
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.record_batch import read_records
from sim_runtime.state_table import IllegalTransition

KEY = TopicPartition("t", 0)


def batch_of(limit: int = 16_384, codec: CompressionCodec = CompressionCodec.NONE) -> ProducerBatch:
    return ProducerBatch(
        KEY,
        number=0,
        compression=Compression(codec=codec),
        estimator=CompressionRatioEstimator(),
        write_limit_bytes=limit,
        granted_bytes=limit,
        now_ms=0,
    )


def fill(batch: ProducerBatch, count: int, value: bytes = b"x" * 50) -> list[Any]:
    return [batch.try_append(0, None, value, (), None, 0) for _ in range(count)]


record = st.tuples(
    st.integers(0, 10_000),
    st.none() | st.binary(max_size=200),
    st.none() | st.binary(max_size=300),
    st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=20)), max_size=2),
)


def append(batch: ProducerBatch, one: Any) -> Any:
    timestamp, key, value, headers = one
    return batch.try_append(timestamp, key, value, headers, None, 0)


@settings(max_examples=60, deadline=None)
@given(records=st.lists(record, min_size=1, max_size=40), limit=st.integers(100, 2_000))
def test_a_batch_ends_exactly_at_the_first_record_that_would_pass_its_limit(records: list[Any], limit: int) -> None:
    batch = batch_of(limit)
    unlimited = batch_of(1 << 30)
    for index, one in enumerate(records):
        append(unlimited, one)
        fits = index == 0 or unlimited.estimated_size_in_bytes <= limit
        assert (append(batch, one) is not None) == fits
        if not fits:
            break
    assert len(batch.close()) <= max(limit, len(batch.close()) if batch.record_count == 1 else 0)
    assert batch.estimated_size_in_bytes == len(batch.close())


def test_the_first_record_always_fits() -> None:
    batch = batch_of(limit=1)
    assert fill(batch, 2)[1] is None
    assert batch.is_full


def test_a_compressible_batch_takes_more_once_the_ratio_is_known() -> None:
    estimator = CompressionRatioEstimator()
    counts = []
    for _ in range(3):
        batch = ProducerBatch(
            KEY,
            number=0,
            compression=Compression(codec=CompressionCodec.GZIP),
            estimator=estimator,
            write_limit_bytes=1_000,
            granted_bytes=1_000,
            now_ms=0,
        )
        while batch.try_append(0, None, b"x" * 50, (), None, 0) is not None:
            pass
        counts.append(batch.record_count)
        for _ in range(40):
            batch.close()
            estimator.update(KEY.topic, CompressionCodec.GZIP, batch.compression_ratio)
    assert counts[0] < counts[1] < counts[2]


def test_the_estimate_improves_slowly_and_worsens_at_once() -> None:
    estimator = CompressionRatioEstimator()
    assert estimator.update("t", CompressionCodec.GZIP, 0.2) == pytest.approx(0.995)
    estimator.set("t", CompressionCodec.GZIP, 0.5)
    assert estimator.update("t", CompressionCodec.GZIP, 0.51) == pytest.approx(0.55)
    assert estimator.update("t", CompressionCodec.GZIP, 0.9) == pytest.approx(0.9)


def test_every_future_ends_once_with_its_own_offset() -> None:
    batch = batch_of()
    futures = fill(batch, 3)
    batch.close()
    assert batch.complete(100, -1)
    assert [future.result(0).offset for future in futures] == [100, 101, 102]
    with pytest.raises(IllegalTransition, match="in state SUCCEEDED does not take FAIL"):
        batch.fail(lambda _: ProducerError("late"))


def test_what_comes_after_a_failure_is_ignored() -> None:
    batch = batch_of()
    (future,) = fill(batch, 1)
    assert batch.fail(lambda _: ProducerError("first"))
    assert not batch.complete(5, -1)
    assert not batch.fail(lambda _: ProducerError("second"))
    assert str(future.exception(0)) == "first"


def test_an_aborted_batch_has_its_error() -> None:
    batch = batch_of()
    (future,) = fill(batch, 1)
    batch.abort(ProducerClosed("closed"))
    assert isinstance(future.exception(0), ProducerClosed)
    with pytest.raises(IllegalTransition, match="in state ABORTED does not take ABORT"):
        batch.abort(ProducerClosed("again"))


def test_the_time_of_the_log_replaces_the_records_own() -> None:
    batch = batch_of()
    (future,) = fill(batch, 1)
    batch.close()
    batch.complete(0, 777)
    assert future.result(0).timestamp_ms == 777


@pytest.mark.parametrize("codec", list(CompressionCodec))
def test_a_split_keeps_records_futures_and_sequences_in_order(codec: CompressionCodec) -> None:
    batch = batch_of(limit=1 << 20, codec=codec)
    values = [bytes([number]) * 100 for number in range(20)]
    futures = [batch.try_append(number, b"k", value, [("h", b"1")], None, 0) for number, value in enumerate(values)]
    batch.set_producer_state(ProducerIdAndEpoch(producer_id=7, epoch=2), 40)
    numbers = iter(range(1, 100))
    parts = batch.split(400, lambda: next(numbers))
    assert len(parts) > 1
    assert batch.is_done
    stored = [record for part in parts for record in read_records(part.close())]
    assert [(one.timestamp, one.value) for one in stored] == list(enumerate(values))
    assert [part.base_sequence for part in parts] == [
        40 + sum(earlier.record_count for earlier in parts[:index]) for index in range(len(parts))
    ]
    offset = 1_000
    for part in parts:
        part.complete(offset, -1)
        offset += part.record_count
    assert [future.result(0).offset for future in futures if future] == list(range(1_000, 1_020))


def test_a_reset_rewrites_a_built_batch() -> None:
    batch = batch_of()
    fill(batch, 2)
    batch.set_producer_state(ProducerIdAndEpoch(producer_id=7, epoch=0), 10)
    batch.close()
    batch.reset_producer_state(ProducerIdAndEpoch(producer_id=7, epoch=1), 0)
    assert batch.sequence_has_been_reset
    header = check_batch(batch.close())
    assert (header.producer_epoch, header.base_sequence) == (1, 0)
    assert not batch.sequence_has_been_reset
