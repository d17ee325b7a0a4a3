"""Each scenario that once failed, in `scenarios/regressions/`, ends as its file expects."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.sweeps.seed_run import run_seed

REGRESSIONS = sorted((Path(__file__).parents[2] / "scenarios" / "regressions").glob("*.yaml"))


def test_there_are_regressions() -> None:
    assert REGRESSIONS


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: path.stem)
def test_what_failed_once_ends_as_its_file_expects(path: Path) -> None:
    scenario = load_scenario(path)
    assert run_seed(scenario, scenario.seed).misses == ()
