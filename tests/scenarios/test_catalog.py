"""Every pair of the catalogue: side A shows the finding, the flip does not, on the same seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker_scenarios.evidence import judged
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.virtual_run import VirtualRun

CATALOG = sorted((Path(__file__).parents[2] / "scenarios" / "catalog").glob("*.yaml"))
PAIRS = [path for path in CATALOG if load_scenario(path).flip is not None]


@pytest.mark.parametrize("path", PAIRS, ids=lambda path: path.stem)
def test_side_a_shows_the_anomaly_and_the_flip_removes_it(path: Path) -> None:
    scenario = load_scenario(path)
    for side in scenario.sides():
        run = judged(VirtualRun(side, side.seed).run(None), engine=None)
        assert run.judgement.misses == (), side.name
