"""kafka-python on virtual time with faults, groups and transactions: the same run with every hash seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker_scenarios.run_comparison import compare_runs, scenario_command

pytestmark = pytest.mark.interop

PROGRAM = Path(__file__).parents[1] / "determinism" / "ordinary-faults-kafka-python.yaml"


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_producers_groups_and_transactions_under_faults_are_the_same_run(seed: int) -> None:
    compared = compare_runs(scenario_command(PROGRAM, seed, None))
    assert compared.equal, compared.text()
