"""Runs of the catalogue with every check of what clients send and hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.checks.wire_check import WIRE_CHECKS
from broker_scenarios.evidence import judged
from broker_scenarios.expectations import CountRange, Expectation
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.virtual_run import VirtualRun
from broker_sim.control.events import BrokerKilled, RequestReceived
from tests.scenarios.playing.runs import play

if TYPE_CHECKING:
    from broker_scenarios.language.scenario import Scenario

CATALOG = Path(__file__).parents[4] / "scenarios" / "catalog"
SHOWN = {
    "retry-rebuilds-different-batch": "wire-batch-identity",
    "sequence-wrap": "wire-seq",
    "stale-pid-request": "wire-epoch",
    "zombie-not-fenced": "wire-epoch",
    "idempotence-silently-off": "wire-idempotence",
    "client-ignores-throttle-time": "wire-throttle",
    "leader-epoch-regression": "wire-stale-leader",
    "fake-success": "wire-no-produce",
    "commit-without-endtxn": "wire-no-endtxn",
    "split-double-free": "res-pool",
    "callback-deadlock": "res-callback",
}


def found(scenario: Scenario) -> dict[str, int]:
    """The findings of a run with every check, which must not differ from the run without."""
    every = Expectation(validity=None, counts={name: CountRange() for name in WIRE_CHECKS})
    evidence = VirtualRun(replace(scenario, expectation=every), scenario.seed).run(None)
    run = judged(evidence, engine=None)
    assert run.verdict.crashes == []
    assert VirtualRun(scenario, scenario.seed).run(None).facts["digest"] == evidence.facts["digest"]
    return {each.kind.value: each.found for each in run.verdict.judged if each.found and each.kind.value in WIRE_CHECKS}


@pytest.mark.parametrize("name", SHOWN)
def test_a_defect_of_a_client_shows_on_the_wire_and_its_flip_shows_nothing(name: str) -> None:
    scenario = load_scenario(CATALOG / f"{name}.yaml")
    assert found(scenario)[SHOWN[name]] >= 1
    assert scenario.flip is not None
    assert found(scenario.flip) == {}


@pytest.mark.parametrize("name", ["batch-too-large", "cross-partition-epoch-bump-dup"])
def test_splits_new_epochs_and_other_processes_are_no_findings(name: str) -> None:
    scenario = load_scenario(CATALOG / f"{name}.yaml")
    assert found(scenario) == {}


PIPELINED = """
title: A producer with a quota and five requests in flight
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients:
  app:
    producer: {linger.ms: 0, batch.size: 2000}
    defects: [ignores-throttle-time]
    load: {records: 200, rate_per_second: 200, sizes: [{bytes: 1000}]}
rules:
  quota: {act: {alter_quota: {client_id: app, quotas: {producer_byte_rate: 20000}}}}
expect: {verdict: any}
flip: {why: it waits, clients: {app: {defects: null}}, expect: {}}
"""


def test_requests_in_flight_when_the_throttle_begins_are_no_violation(tmp_path: Path) -> None:
    path = tmp_path / "pipelined.yaml"
    path.write_text(PIPELINED)
    scenario = load_scenario(path)
    assert scenario.flip is not None
    assert "wire-throttle" in found(scenario)
    assert found(scenario.flip) == {}


RESTARTED = """
title: A broker that is killed and started again
cluster: {brokers: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients: {app: {producer: {linger.ms: 0}, script: [{send: {count: 10, every_ms: 500}}, flush, close]}}
rules: {crash: {when: {acked_records: 4}, act: {kill: 1}, until: {delay_ms: 1000}}}
expect: {verdict: any}
"""


def test_a_broker_and_a_number_name_a_request_also_after_a_restart(tmp_path: Path) -> None:
    journal = play(tmp_path, RESTARTED).evidence.truth.journal
    assert any(isinstance(event, BrokerKilled) for event in journal)
    requests = [(event.broker_id, event.request_id) for event in journal if isinstance(event, RequestReceived)]
    assert len(requests) == len(set(requests)) > 10
