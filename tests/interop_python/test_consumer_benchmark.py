"""benchmarks/consumer.py with a few records: every client reads, and is measured."""

from __future__ import annotations

from benchmarks.consumer import run

PAIRS = ("poll, 100 B records, against aiokafka", "poll_batch, 100 B records, against confluent-kafka")


def test_every_client_is_measured() -> None:
    results = run(record_bytes=100, records=20_000, rounds=1)
    assert [result.name for result in results] == [name for pair in PAIRS for name in (pair, f"{pair}, CPU")]
    assert all(result.figure > 0 for result in results)
