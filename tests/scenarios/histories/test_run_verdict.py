from __future__ import annotations

from pathlib import Path

import pytest

from broker_scenarios.evidence import judged
from broker_scenarios.findings import FindingKind
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.virtual_run import VirtualRun

CATALOG = Path(__file__).parents[3] / "scenarios" / "catalog"


@pytest.mark.parametrize(("name", "count"), [("fetch-from-zombie-leader", 2), ("unclean-election-loss", 3)])
def test_an_offset_with_two_values_is_one_finding_which_a_permitted_loss_permits(name: str, count: int) -> None:
    side_a = load_scenario(CATALOG / f"{name}.yaml")
    verdict = judged(VirtualRun(side_a, 1).run(None), engine=None).verdict
    (found,) = (each for each in verdict.judged if each.kind is FindingKind.INCONSISTENT_OFFSETS)
    assert (found.found, found.permitted) == (count, count)
