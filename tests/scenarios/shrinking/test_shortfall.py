from __future__ import annotations

from broker_scenarios.shrinking.shortfall import faultless, idle

DOCUMENT = {
    "cluster": {"brokers": 1, "defects": ["dedup-none"]},
    "load": {"records": 3},
    "clients": {"app": {"producer": {}, "defects": ["no-retries"], "script": [{"send": 3}]}},
    "rules": {"crash": {"act": {"kill": 1}}},
}


def test_an_idle_document_keeps_its_faults_and_a_faultless_one_its_load() -> None:
    still = idle(DOCUMENT)
    assert "load" not in still
    assert still["clients"]["app"]["script"] == ["close"]
    assert (still["rules"], still["cluster"]) == (DOCUMENT["rules"], DOCUMENT["cluster"])

    healthy = faultless(DOCUMENT)
    assert healthy["load"] == DOCUMENT["load"]
    assert healthy["clients"] == {"app": {"producer": {}, "script": [{"send": 3}]}}
    assert "rules" not in healthy
    assert healthy["cluster"] == {"brokers": 1}
    assert "defects" in DOCUMENT["cluster"]
