"""benchmarks/transactions.py: both comparisons are measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import transactions

if TYPE_CHECKING:
    import pytest


def test_transactions_and_isolation_levels_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"COUNT": 20, "ROUNDS": 2, "READ_ROUNDS": 2, "READ_RECORDS": 5_000}.items():
        monkeypatch.setattr(transactions, name, value)
    results = transactions.run(1)
    assert [result.name for result in results] == [
        "transactions of 10 records, against librdkafka's mock",
        "consume read_committed, against read_uncommitted",
    ]
    assert all(result.figure > 0 for result in results)
