"""`make bench`: every benchmark in one table, each figure beside its target. A missed target leaves exit status 0."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import (
    broker_vs_librdkafka_mock,
    codec,
    consumer,
    groups,
    harness,
    producer,
    reads_vs_librdkafka_mock,
    replication_factor,
    scale,
    start_times,
    sweep,
    transactions,
)
from benchmarks.result import table


def main() -> None:
    """Run them and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5, help="runs of each side of a comparison (default 5)")
    options = parser.parse_args()
    results = [
        *start_times.run(starts=2 * options.pairs + 1),
        *harness.run(options.pairs),
        *scale.run(),
        *replication_factor.run(options.pairs),
        *broker_vs_librdkafka_mock.run(options.pairs),
        *reads_vs_librdkafka_mock.run(options.pairs),
        *consumer.run(record_bytes=100, records=200_000),
        *consumer.run(record_bytes=1000, records=60_000),
        *groups.run(),
        *transactions.run(options.pairs),
        *producer.run(options.pairs),
        *sweep.run(),
        *codec.run(rounds=12 * options.pairs + 1),
    ]
    print(table(results))


if __name__ == "__main__":
    main()
