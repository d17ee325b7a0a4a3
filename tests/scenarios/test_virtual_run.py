from __future__ import annotations

from pathlib import Path

import pytest

from broker_scenarios.evidence import judged
from broker_scenarios.scenario import load_scenario
from broker_scenarios.virtual_run import VirtualRun

CATALOG = Path(__file__).parents[2] / "scenarios" / "catalog"


@pytest.mark.parametrize("link_delay_ms", [0, 0.5, 20])
@pytest.mark.parametrize("name", ["leader-crash-acks-1", "leader-crash-acks-all", "leader-crash-acks-all-idempotent"])
def test_the_main_job_ends_as_expected_however_long_the_way_between_brokers(name: str, link_delay_ms: float) -> None:
    scenario = load_scenario(CATALOG / f"{name}.yaml").with_records(6_000)
    run = judged(VirtualRun(scenario, 7, link_delay_ms=link_delay_ms).run(None), engine=None, replay="")
    assert run.judgement.misses == ()
    if name == "leader-crash-acks-1":
        assert run.verdict.counts.lost == run.verdict.counts.acked - run.verdict.counts.stored
        group = run.verdict.groups[0]
        assert "broker 1 rejoined behind leader 2 at leader epoch 1" in group.why
        assert group.permitted_because is not None
    else:
        assert run.verdict.counts.lost == 0
