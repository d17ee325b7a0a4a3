"""benchmarks/transactions.py: both comparisons are measured."""

from __future__ import annotations

from benchmarks.transactions import run


def test_transactions_and_isolation_levels_are_measured() -> None:
    results = run(1)
    assert [result.name for result in results] == [
        "transactions of 10 records, against librdkafka's mock",
        "consume read_committed, against read_uncommitted",
    ]
    assert all(result.figure > 0 for result in results)
