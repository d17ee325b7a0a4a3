from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from broker_scenarios.cli import main
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.sweeps.engine import LocalSweep
from broker_scenarios.sweeps.seed_run import run_seed
from broker_scenarios.table import load_progress
from broker_scenarios.virtual_run import VirtualRun
from sim_runtime.virtual_reactor import CallLimitExceeded

if TYPE_CHECKING:
    import pytest

    from broker_scenarios.evidence import Evidence

CATALOG = Path(__file__).parents[2] / "scenarios" / "catalog"
SEEDS = 40
RECORDS = 150


def test_no_seed_loses_an_acknowledged_record_with_acks_all_whenever_the_leader_dies() -> None:
    scenario = load_scenario(CATALOG / "leader-crash-any-time-acks-all.yaml").with_records(RECORDS)
    results = [run_seed(scenario, seed) for seed in range(SEEDS)]
    assert [(result.seed, result.misses) for result in results if result.misses] == []
    assert len({result.digest for result in results}) == SEEDS


def test_some_seed_loses_acknowledged_records_with_acks_1() -> None:
    scenario = load_scenario(CATALOG / "leader-crash-any-time-acks-1.yaml").with_records(RECORDS)
    losses = (seed for seed in range(SEEDS) if run_seed(scenario, seed).counts.lost)
    assert next(losses, None) is not None


def test_processes_change_neither_the_results_nor_their_order() -> None:
    scenario = load_scenario(CATALOG / "leader-crash-any-time-acks-1.yaml").with_records(40)
    with load_progress("seeds", 5) as progress:
        alone, shared = ([*LocalSweep(scenario, processes=count).run(range(3, 8), progress)] for count in (1, 2))
    assert [result.seed for result in shared] == [3, 4, 5, 6, 7]
    assert shared == alone


def test_the_command_prints_how_many_seeds_it_runs_per_second(capsys: pytest.CaptureFixture[str]) -> None:
    path = CATALOG / "leader-crash-any-time-acks-all.yaml"
    assert main(["sweep", str(path), "--seeds", "3", "--records", "100"]) == 0
    printed = capsys.readouterr().out
    assert "3 of 3 seeds ended as expected" in printed
    assert "seeds per second" in printed


def test_a_seed_whose_run_never_ends_is_a_result_and_the_sweep_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = VirtualRun.run

    def spin(self: VirtualRun, progress: None) -> Evidence:
        if self.seed == 1:
            raise CallLimitExceeded(1_000_000, "calls_per_instant_limit", "_Call.due")
        return run(self, progress)

    monkeypatch.setattr(VirtualRun, "run", spin)
    written = tmp_path / "results.json"
    junit = tmp_path / "junit.xml"
    files = ("--json", str(written), "--junit", str(junit))
    path = str(CATALOG / "leader-crash-any-time-acks-all.yaml")
    assert main(["sweep", path, "--seeds", "3", "--records", "20", "--processes", "1", *files]) == 1
    out = capsys.readouterr().out
    assert "2 of 3 seeds ended as expected" in out
    assert "seed 1: the run was stopped: 1000000 calls ran" in out
    assert "1 seed from 1 on: the run was stopped: N calls ran" in out
    results = [json.loads(line) for line in written.read_text().splitlines()]
    assert [result["verdict"] for result in results] == ["valid", "unknown", "valid"]
    assert {frozenset(result) for result in results} == {frozenset(results[0])}
