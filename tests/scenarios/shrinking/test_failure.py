from __future__ import annotations

from pathlib import Path

from broker_scenarios.evidence import judged
from broker_scenarios.findings import FindingKind
from broker_scenarios.language.scenario import load_scenario, read_document
from broker_scenarios.shrinking.failure import reasons, wording
from broker_scenarios.virtual_run import run_virtually

CATALOG = Path(__file__).parents[3] / "scenarios" / "catalog"


def test_a_run_fails_for_its_anomaly_or_else_for_what_it_missed() -> None:
    scenario = load_scenario(CATALOG / "lost-ack-duplicate.yaml")
    permitted = judged(run_virtually(scenario, 0), engine=None)
    assert reasons(permitted) == ()
    assert reasons(permitted, FindingKind.DUPLICATE) == ("duplicate",)
    assert reasons(permitted, FindingKind.LOST_WRITE) == ()

    document = {**scenario.document, "expect": {"acked": 12, "duplicated": 0}}
    missed = judged(run_virtually(read_document(document, scenario.path, "t"), 0), engine=None)
    assert reasons(missed) == ("acked N, expected exactly N", "duplicated N, expected exactly N")

    assert wording(missed, "acked N, expected exactly N") == "acked 3, expected exactly 12"

    claims = {"clients": {"app": {**scenario.document["clients"]["app"], "producer": {}}}}
    with_defect = {**scenario.document, **claims, "cluster": {"brokers": 1, "defects": ["dedup-none"]}}
    broken = judged(run_virtually(read_document(with_defect, scenario.path, "t"), 0), engine=None)
    assert reasons(broken) == ("duplicate",)
    assert wording(broken, "duplicate") == "duplicate"
