from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from broker_scenarios.cli import main
from broker_scenarios.coverage import ERROR, EVENT, REQUEST, RULE, TRANSITION, Coverage
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.sweeps.seed_run import run_seed

if TYPE_CHECKING:
    import pytest

SWARM = Path(__file__).parents[2] / "scenarios" / "swarms" / "groups.yaml"


def test_a_run_notes_what_it_reaches_and_is_the_same_run() -> None:
    scenario = load_scenario(SWARM)
    plain, noted = run_seed(scenario, 3), run_seed(scenario, 3, coverage=True)
    assert (plain.digest, plain.reached) == (noted.digest, ())
    assert {kind for kind, _ in noted.reached} == {RULE, EVENT, REQUEST, ERROR, TRANSITION}
    assert (RULE, "leader crash") in noted.reached
    assert (EVENT, "LeaderElected") in noted.reached
    assert (TRANSITION, "classic group: PreparingRebalance to CompletingRebalance") in noted.reached
    assert any(name.startswith("Fetch v") and name.endswith(" between nodes") for _, name in noted.reached)
    assert any(name.startswith("JoinGroup: ") for kind, name in noted.reached if kind == ERROR)


def test_coverage_names_what_is_new_what_is_rare_and_what_never_came() -> None:
    coverage = Coverage(["crash", "stop"])
    assert coverage.add(4, [(RULE, "crash"), (EVENT, "BrokerKilled")])
    assert not coverage.add(5, [(RULE, "crash")])
    assert coverage.add(6, [(ERROR, "Produce: NOT_LEADER_OR_FOLLOWER")])
    lines = list(coverage.lines())
    assert lines[0] == "  rules that fired: 1 of 2, never stop"
    assert lines[-2:] == ["  in seed 4 alone: BrokerKilled", "  in seed 6 alone: Produce: NOT_LEADER_OR_FOLLOWER"]
    assert json.loads(coverage.to_json())[RULE] == {"crash": {"seeds": 2, "first_seed": 4}}


def test_a_sweep_reports_and_writes_its_coverage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = tmp_path / "coverage.json"
    assert main(["sweep", str(SWARM), "--seeds", "2", "--processes", "1", "--coverage", str(written)]) == 0
    assert "groups, what was reached:\n  rules that fired: " in capsys.readouterr().out
    assert json.loads(written.read_text())[EVENT]["LeaderElected"] == {"seeds": 2, "first_seed": 0}
