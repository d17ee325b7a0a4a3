"""The table of planted defects: each shrunk file in `scenarios/planted/` fails with its defect, and not without."""

from __future__ import annotations

import json

import pytest

from benchmarks.planted_defects import FOLDER, PAGE, RESULTS, code_of, page
from broker_scenarios.language.planting import unplanted
from broker_scenarios.language.scenario import load_scenario, read_document
from broker_scenarios.shrinking.failure import without_numbers
from broker_scenarios.shrinking.trial import run_trial

FOUND = {name: result for name, result in json.loads(RESULTS.read_text()).items() if "seed" in result}


def test_the_page_shows_the_results() -> None:
    assert PAGE.read_text() == page(json.loads(RESULTS.read_text()))
    assert {path.stem for path in FOLDER.glob("*.yaml")} == {*FOUND}


def test_at_least_twenty_defects_of_all_code_are_found_and_shrunk_to_ten_events() -> None:
    small = [name for name, result in FOUND.items() if result["events"][1] <= 10 and result["seed"] < 2_000]
    assert len(small) >= 20
    assert {code_of(name).partition(":")[0] for name in small} >= {"broker", "producer", "group", "transaction"}


@pytest.mark.parametrize("name", FOUND)
def test_a_shrunk_file_fails_with_its_defect_alone(name: str) -> None:
    scenario = load_scenario(FOLDER / f"{name}.yaml")
    assert without_numbers(FOUND[name]["reason"]) in run_trial(scenario, scenario.seed, is_stopped_early=True).reasons
    clean = read_document(unplanted(scenario.document, name), scenario.path, scenario.name)
    assert clean.document != scenario.document
    assert run_trial(clean, clean.seed).reasons == ()
