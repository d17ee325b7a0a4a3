from __future__ import annotations

from pathlib import Path

import pytest

from broker_client.defects import DEFECTS as CLIENT_DEFECTS
from broker_scenarios.cli import main
from broker_scenarios.errors import ScenarioError
from broker_scenarios.language.planting import unplanted
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.sweeps.seed_run import run_seed

SCENARIOS = Path(__file__).parents[3] / "scenarios"
SWARM = SCENARIOS / "swarms" / "transactions.yaml"
PAIR = SCENARIOS / "catalog" / "lost-ack-duplicate.yaml"


def test_a_broker_defect_is_planted_in_all_brokers_of_each_seed_and_of_both_sides() -> None:
    swarm = load_scenario(SWARM, defect="old-epochs-write")
    assert swarm.drawn(3).broker_defects == ("old-epochs-write",)
    assert swarm.drawn(3).planted == "old-epochs-write"
    assert [side.broker_defects for side in load_scenario(PAIR, defect="dedup-none").sides()] == [("dedup-none",)] * 2
    assert load_scenario(SWARM).drawn(3).broker_defects == ()


def test_a_client_defect_is_planted_in_the_clients_with_its_parts() -> None:
    producers = load_scenario(SWARM, defect="refused-commit-succeeds").drawn(0).clients
    consumers = load_scenario(SWARM, defect="reads-from-batch-start").drawn(0).clients
    assert {group.name: len(group.defects) for group in producers} == {"transfer": 1, "late": 1, "reader": 0}
    assert {group.name: len(group.defects) for group in consumers} == {"transfer": 0, "late": 0, "reader": 1}


@pytest.mark.parametrize("name", ["old-epochs-write", "refused-commit-succeeds"])
def test_a_document_without_the_planted_defect_is_the_one_before(name: str) -> None:
    assert unplanted(load_scenario(SWARM, defect=name).document, name) == load_scenario(SWARM).document


def test_a_defect_beside_that_of_the_file_leaves_the_other_one() -> None:
    path = SCENARIOS / "catalog" / "stuck-prepare.yaml"
    both = load_scenario(path, defect="dedup-none")
    assert both.broker_defects == ("moved-coordinator-loses-a-marker", "dedup-none")
    assert unplanted(both.document, "dedup-none") == load_scenario(path).document


@pytest.mark.parametrize(
    ("file", "name", "problem"),
    [
        (SWARM, "old-epoch-writes", "there is no defect 'old-epoch-writes' .*; did you mean 'old-epochs-write'"),
        (SWARM, "xyz", "docs/reference/defects.md"),
        (PAIR, "reads-from-batch-start", "none of `clients` can have the defect .* with fetch_buffer"),
        (PAIR, "throttled-requests-keep-their-bytes", r"it has no effect since 2\.0"),
    ],
)
def test_what_a_scenario_cannot_have_is_refused(file: Path, name: str, problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        load_scenario(file, defect=name)


def test_defects_of_transactions_leave_other_producers_alone() -> None:
    names = [name for name, defect in CLIENT_DEFECTS.items() if "transaction_manager" in defect.parts]
    counts = {name: run_seed(load_scenario(PAIR, defect=name), 0).counts for name in names}
    assert counts == dict.fromkeys(names, run_seed(load_scenario(PAIR), 0).counts)


def test_the_commands_plant_it_and_print_how_to_reproduce_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    smallest = tmp_path / "smallest.yaml"
    given = ["--defect", "dedup-none"]
    assert main(["sweep", str(PAIR), "--seeds", "1"]) == 0
    assert main(["run", str(PAIR), "--seed", "0", *given]) == 1
    assert f"reproduce: broker-sim run {PAIR} --virtual --seed 0 {' '.join(given)}" in capsys.readouterr().out
    assert main(["shrink", str(PAIR), "--runs", "5", "--output", str(smallest), *given]) == 0
    assert main(["run", str(smallest)]) == 1
