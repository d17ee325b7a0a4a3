from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from broker_scenarios.language.scenario import load_scenario, read_document
from broker_scenarios.sweeps.failing_seeds import shrink_seed
from broker_scenarios.sweeps.seed_run import run_seed, swept_seed
from broker_scenarios.virtual_run import VirtualRun

if TYPE_CHECKING:
    import pytest

CATALOG = Path(__file__).parents[3] / "scenarios" / "catalog"


def test_a_seed_that_hangs_in_one_step_is_a_result_and_cannot_be_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    def spin(run: VirtualRun, progress: object) -> None:
        while True:
            pass

    monkeypatch.setattr(VirtualRun, "run", spin)
    scenario = load_scenario(CATALOG / "leader-crash-any-time-acks-all.yaml").with_records(20)
    hanging = run_seed(scenario, 3, limit_s=0.2)
    assert hanging.misses == ("the run was stopped: it did not end within 0.2 s (--seed-limit)",)
    assert hanging.signature == "the run was stopped: it did not end within N s (--seed-limit)"
    assert hanging.result.values["verdict"] == "unknown"
    assert "--seed 3" in hanging.result.reproduce

    shrunk = shrink_seed(scenario, 3, limit_s=0.2)
    assert (shrunk.text, shrunk.summary) == (
        None,
        "cannot be shrunk: it did not end within 0.2 s (--seed-limit)",
    )


def test_an_error_of_the_simulator_is_the_result_of_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(run: VirtualRun, progress: object) -> None:
        raise LookupError("offset 12 is behind 13")

    monkeypatch.setattr(VirtualRun, "run", fail)
    scenario = load_scenario(CATALOG / "lost-ack-duplicate.yaml")
    broken = swept_seed(scenario, 7, coverage=False, limit_s=None)
    assert broken.misses == ("the run was stopped: LookupError: offset 12 is behind 13",)
    assert broken.signature == "the run was stopped: LookupError: offset N is behind N"
    assert shrink_seed(scenario, 7).summary == "cannot be shrunk: LookupError: offset 12 is behind 13"


def test_the_signature_of_a_missed_expectation_is_its_text_without_numbers() -> None:
    scenario = load_scenario(CATALOG / "lost-ack-duplicate.yaml")
    met = run_seed(scenario, 0)
    assert (met.misses, met.signature) == ((), "")
    more = read_document({**scenario.document, "expect": {"acked": 12}}, scenario.path, "more")
    missed = run_seed(more, 0)
    assert (missed.misses, missed.signature) == (("acked 3, expected exactly 12",), "acked N, expected exactly N")
