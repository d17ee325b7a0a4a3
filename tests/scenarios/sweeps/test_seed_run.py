from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.sweeps.failing_seeds import shrink_seed
from broker_scenarios.sweeps.seed_run import run_seed
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


def test_the_signature_is_the_gravest_reason_without_numbers() -> None:
    acks_1 = load_scenario(CATALOG / "lost-ack-duplicate.yaml")
    met = run_seed(acks_1, 0)
    assert (met.misses, met.signature) == ((), "")
    assert run_seed(acks_1, 1).digest != met.digest
