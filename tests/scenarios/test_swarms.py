"""The swarms in `scenarios/swarms/`: a few seeds of each end as its file expects. Sweeps run many more."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.sweeps.seed_run import run_seed

SWARMS = sorted((Path(__file__).parents[2] / "scenarios" / "swarms").glob("*.yaml"))
SEEDS = 4


def test_there_are_swarms() -> None:
    assert SWARMS


@pytest.mark.parametrize("path", SWARMS, ids=lambda path: path.stem)
def test_seeds_end_as_the_file_expects(path: Path) -> None:
    scenario = load_scenario(path)
    assert scenario.draws is not None
    results = [run_seed(scenario, seed) for seed in range(SEEDS)]
    assert {result.seed: result.misses for result in results if result.misses} == {}
    assert len({result.digest for result in results}) == SEEDS
