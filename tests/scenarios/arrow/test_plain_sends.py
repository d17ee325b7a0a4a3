from __future__ import annotations

import numpy as np
import pyarrow as pa

from broker_scenarios.arrow.plain_sends import _GROUPS_MAX, _grouped


def test_the_latencies_of_many_sends_keep_two_digits() -> None:
    draws = np.random.default_rng(1)
    count = 2 * _GROUPS_MAX
    invoke_us = np.sort(draws.integers(0, 17_000_000, count))
    latency_us = draws.lognormal(8.6, 1, count).astype(np.int64) + 1
    sends = pa.table(
        {
            "topic": pa.repeat("orders", count),
            "partition": draws.integers(0, 6, count).astype(np.int32),
            "invoke_us": invoke_us,
            "complete_us": invoke_us + latency_us,
            "count": np.ones(count, np.int64),
        }
    )
    groups = _grouped(sends)
    assert len(groups) <= _GROUPS_MAX
    assert sum(groups["count"].to_pylist()) == count
    kept = np.repeat(groups["complete_us"].to_numpy() - groups["invoke_us"].to_numpy(), groups["count"].to_numpy())
    for percent in (50, 99, 100):
        exact, reported = np.percentile(latency_us, percent), np.percentile(kept, percent)
        assert 0.9 * exact <= reported <= exact
