"""Every input of a service is in its output exactly once, with any crashes of its instances and of brokers.

`python -m tests.client.core.transactions.test_exactly_once_pipeline FIRST LAST RELEASE` runs a range of seeds.
"""

from __future__ import annotations

import sys

import pytest

from broker_sim.log.replica_log import ReplicaLog
from tests.client.core.transactions.exactly_once_pipeline import INPUTS, Pipeline

EXPECTED = list(range(INPUTS))


def output_of(seed: int, release: str) -> list[int]:
    pipeline = Pipeline(seed, release=release)
    try:
        return sorted(int(value) for value in pipeline.run())
    finally:
        pipeline.close()


@pytest.mark.parametrize("release", ["2.8", "3.7", "4.3.1"])
@pytest.mark.parametrize("seed", range(2))
def test_every_input_is_in_the_output_exactly_once(seed: int, release: str) -> None:
    assert output_of(seed, release) == EXPECTED


def test_records_of_aborted_transactions_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReplicaLog, "aborted_transactions_of_read", lambda *_: [])
    assert any(output_of(seed, "4.3.1") != EXPECTED for seed in range(6))


if __name__ == "__main__":
    first, last, release = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    wrong = [seed for seed in range(first, last) if output_of(seed, release) != EXPECTED]
    print(f"{last - first} seeds on {release}, wrong: {wrong}")
