from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from broker_scenarios.cli import main
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.sweep import sweep_seeds

if TYPE_CHECKING:
    import pytest

CATALOG = Path(__file__).parents[2] / "scenarios" / "catalog"
SEEDS = 60
RECORDS = 250


def test_no_seed_loses_an_acknowledged_record_with_acks_all_whenever_the_leader_dies() -> None:
    scenario = load_scenario(CATALOG / "leader-crash-any-time-acks-all.yaml").with_records(RECORDS)
    results = list(sweep_seeds(scenario, seeds=SEEDS))
    assert [(result.seed, result.misses) for result in results if result.misses] == []
    assert len({result.digest for result in results}) == SEEDS


def test_some_seed_loses_acknowledged_records_with_acks_1() -> None:
    scenario = load_scenario(CATALOG / "leader-crash-any-time-acks-1.yaml").with_records(RECORDS)
    losses = (result.seed for result in sweep_seeds(scenario, seeds=SEEDS) if result.counts.lost)
    assert next(losses, None) is not None


def test_processes_change_neither_the_results_nor_their_order() -> None:
    scenario = load_scenario(CATALOG / "leader-crash-any-time-acks-1.yaml").with_records(40)
    alone, shared = (list(sweep_seeds(scenario, seeds=5, first_seed=3, processes=count)) for count in (1, 2))
    assert [result.seed for result in shared] == [3, 4, 5, 6, 7]
    assert shared == alone


def test_the_command_prints_how_many_seeds_it_runs_per_second(capsys: pytest.CaptureFixture[str]) -> None:
    path = CATALOG / "leader-crash-any-time-acks-all.yaml"
    assert main(["sweep", str(path), "--seeds", "3", "--records", "100"]) == 0
    printed = capsys.readouterr().out
    assert "3 of 3 seeds ended as expected" in printed
    assert "seeds per second" in printed
