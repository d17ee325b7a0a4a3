from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.errors import ScenarioError
from broker_scenarios.evidence import judged
from broker_scenarios.findings import FindingKind
from broker_scenarios.language.planting import unplanted
from broker_scenarios.language.scenario import load_scenario, read_document
from broker_scenarios.shrinking.failure import reasons
from broker_scenarios.shrinking.shrink import shrink
from broker_scenarios.virtual_run import VirtualRun, run_virtually
from sim_runtime.virtual_reactor import CallLimitExceeded

if TYPE_CHECKING:
    from broker_scenarios.evidence import Evidence

CATALOG = Path(__file__).parents[3] / "scenarios" / "catalog"
WITH_A_DEFECT = """
title: a broker that stores repetitions
claim: much happens here, one thing of it matters
cluster: {brokers: 3, defects: [dedup-none], config: {num.io.threads: 4}}
topics: {orders: {partitions: 3, replication_factor: 3}, others: {partitions: 1, replication_factor: 1}}
clients:
  app: {count: 2, producer: {linger.ms: {uniform: [1, 5]}}, load: {topic: orders, records: 40, rate_per_second: 400}}
  beside: {producer: {acks: 1}, script: [{send: 4}, flush, close]}
rules:
  crash: {act: {kill: leader of others-0}, when: {delay_ms: [20, 60]}, until: {delay_ms: 200}}
  lossy: {act: disconnect, phase: before_response, select: {api: Produce, share: 0.2}}
  slow: {act: {delay_ms: [1, 9]}, phase: before_response, select: {api: Fetch, share: 0.5}, optional: true}
expect: {verdict: valid, lost: 0}
"""
SMALL = """
title: a response is lost
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients: {app: {producer: {}, script: [{send: 2}, flush, close]}}
rules:
  lost: {act: disconnect, phase: before_response, select: {api: Produce}, times: 1}
  slow: {act: {delay_ms: 5}, select: {api: Metadata}, optional: true}
expect: {verdict: valid, acked: ">= 2"}
"""


def test_a_failing_seed_becomes_a_file_of_one_record_that_fails_for_the_same_reason(tmp_path: Path) -> None:
    path = tmp_path / "defect.yaml"
    path.write_text(WITH_A_DEFECT)
    progress: list[int] = []
    shrunk = shrink(load_scenario(path), 5, progress=progress.append)
    assert (shrunk.reason, shrunk.runs) == ("duplicate", progress[-1])
    assert shrunk.records == (44, 1)
    assert shrunk.events == (7, 2)
    assert shrunk.document["cluster"] == {"brokers": 1, "defects": ["dedup-none"]}
    assert [*shrunk.document["rules"]] == ["lossy"]

    written = tmp_path / "smallest.yaml"
    written.write_text(shrunk.text())
    assert shrunk.text().startswith("# Shrunk from defect.yaml, seed 5.\n# 44 records, 7 events -> 1 record, 2 events")
    smallest = load_scenario(written)
    assert smallest.seed == 5
    assert len(run_virtually(smallest, 5).truth.stored) == 2
    assert shrink(smallest, 5).document == shrunk.document


def test_what_must_happen_is_met_by_the_smallest_scenario_without_its_fault(tmp_path: Path) -> None:
    path = tmp_path / "refused.yaml"
    refused = SMALL.replace("disconnect, phase: before_response", "{error: INVALID_RECORD}")
    path.write_text(refused.replace("send: 2", "send: {count: 2, wait: true}"))
    shrunk = shrink(load_scenario(path), 0, runs_max=15)
    assert (shrunk.reason, shrunk.records) == ("acked 1, expected at least 2", (2, 2))
    assert "lost" in shrunk.document["rules"]


@pytest.mark.parametrize(
    ("old", "new", "missed"),
    [
        ("acked", "failed", "failed 0, expected at least 2"),
        ('acked: ">= 2"', "verdict: broken", "verdict valid, expected broken"),
        ("times: 1", "when: {acked_records: 9}", "rule 'lost' never fired"),
    ],
)
def test_what_no_fault_causes_is_not_shrunk_to_an_empty_scenario(
    tmp_path: Path, old: str, new: str, missed: str
) -> None:
    path = tmp_path / "missed.yaml"
    path.write_text(SMALL.replace("verdict: valid, ", "").replace(old, new))
    with pytest.raises(ScenarioError, match=f"{missed}.*no rule and no defect of the file causes it"):
        shrink(load_scenario(path), 0)


def test_an_anomaly_that_the_file_permits_is_shrunk_by_its_name() -> None:
    scenario = load_scenario(CATALOG / "acks1-leader-crash-loss.yaml")
    with pytest.raises(ScenarioError, match="seed 0 ends as the file expects and breaks nothing: there is nothing to"):
        shrink(scenario, 0)
    with pytest.raises(ScenarioError, match=r"acks1-leader-crash-loss.yaml: seed 0 has no G1a"):
        shrink(scenario, 0, finding=FindingKind.G1A)
    shrunk = shrink(scenario, 0, finding=FindingKind.LOST_WRITE)
    assert (shrunk.records, shrunk.events) == ((300, 1), (4, 3))
    assert shrunk.document["expect"] == {"lost-write": ">= 1"}
    assert "claim" not in shrunk.document


def test_a_search_ends_with_its_runs() -> None:
    scenario = load_scenario(CATALOG / "acks1-leader-crash-loss.yaml")
    shrunk = shrink(scenario, 0, finding=FindingKind.LOST_WRITE, runs_max=3)
    assert shrunk.runs == 4  # the first one checks the written draws
    assert shrunk.events == (4, 4)


def test_a_file_shrunk_with_a_planted_defect_ends_as_expected_without_it(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    shrunk = shrink(load_scenario(path, defect="dedup-none"), 0, runs_max=12)
    assert (shrunk.reason, shrunk.records) == ("duplicate", (2, 2))
    clean = read_document(unplanted(shrunk.document, "dedup-none"), path, "clean")
    assert reasons(judged(run_virtually(clean, 0), engine=None)) == ()

    path.write_text(SMALL.replace(">= 2", ">= 3"))
    with pytest.raises(ScenarioError, match="or it fails without the defect dedup-none too"):
        shrink(load_scenario(path, defect="dedup-none"), 0)


def test_a_run_that_never_ends_is_shrunk_by_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = VirtualRun.run

    def spin(self: VirtualRun, progress: None) -> Evidence:
        if "slow" in self.scenario.document.get("rules", {}):
            limit = self.world.reactor.calls_per_instant_limit
            raise CallLimitExceeded(limit, "calls_per_instant_limit", "_Call.due")
        return run(self, progress)

    monkeypatch.setattr(VirtualRun, "run", spin)
    path = tmp_path / "spin.yaml"
    path.write_text(SMALL)
    shrunk = shrink(load_scenario(path), 0)
    assert shrunk.reason.startswith("the run was stopped: 1000000 calls ran, which is the limit calls_per_instant")
    assert [*shrunk.document["rules"]] == ["slow"]
    assert shrunk.records == (0, 0)
