"""The load by the column is the load by the row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from broker_scenarios.arrow.keyed_load_table import KeyedLoadTable, value_column
from broker_scenarios.arrow.load_table import load_batch
from broker_scenarios.errors import ScenarioError
from broker_scenarios.workloads.keyed_load import KeyedLoad, LoadSpec, SizeShare, build_load, shares_of
from broker_scenarios.workloads.values import value_bytes

MIXED = LoadSpec(
    topic="orders",
    records=3_000,
    producers=3,
    keys=700,
    rate_per_s=1_234.5,
    sizes=(SizeShare(size_bytes=100), SizeShare(size_bytes=8), SizeShare(size_bytes=70_000, share=0.01)),
)
PLAIN = LoadSpec(topic="orders", records=10**10 - 10**9, keys=0)


@pytest.mark.parametrize(("spec", "first"), [(MIXED, 0), (PLAIN, PLAIN.records - 3_000)])
@pytest.mark.parametrize("seed", [0, 2**63 + 5, -3])
def test_a_batch_has_the_rows_of_the_load(spec: LoadSpec, first: int, seed: int) -> None:
    value_ids = np.arange(first, first + 3_000)
    rows = KeyedLoad(spec, seed).rows(value_ids.tolist())
    assert KeyedLoadTable(spec, seed).batch(value_ids) == load_batch(rows)


def test_a_value_has_the_same_bytes() -> None:
    sizes = [8, 9, 100, 65_544, 70_000, 200_000]
    column = value_column(np.arange(6), np.array(sizes))
    column.validate(full=True)
    assert column.to_pylist() == [value_bytes(value_id, size) for value_id, size in enumerate(sizes)]
    assert value_column(np.arange(0), np.arange(0)).to_pylist() == []


def test_a_value_too_small_for_its_id_is_refused() -> None:
    with pytest.raises(ScenarioError, match="a value of 7 bytes cannot hold its id: at least 8"):
        value_column(np.arange(2), np.array([100, 7]))


def test_values_beyond_the_offsets_of_a_column_are_refused() -> None:
    with pytest.raises(ScenarioError, match="3 values of 3221225472 bytes are more than one column can hold"):
        value_column(np.arange(3), np.full(3, 2**30))


def test_the_share_of_a_producer_has_its_rows_in_order() -> None:
    spec = LoadSpec(topic="orders", records=70_000, producers=3, keys=10)
    shares = shares_of(build_load(spec, 7), 3)
    for producer_id, share in enumerate(shares):
        batches = list(KeyedLoadTable(spec, 7).share(producer_id))
        assert len(batches) == 2
        assert pa.Table.from_batches(batches) == pa.Table.from_batches([load_batch(share)])
