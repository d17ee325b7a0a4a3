"""Observation changes nothing: the events of a cluster do not depend on its journal or on rules that never match."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.virtual_run import VirtualRun
from broker_sim.control.events import Detail
from broker_sim.faults.grammar import parse_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_scenarios.language.scenario import Scenario

SEEDS = 50
SCENARIO = """
title: A leader dies and comes back under a small load
cluster:
  brokers: 3
  config: {broker.session.timeout.ms: 200, broker.heartbeat.interval.ms: 60, replica.lag.time.max.ms: 800}
topics: {orders: {partitions: 2, replication_factor: 3}}
load: {records: 12, producers: 1, rate_per_second: 100}
producer: {acks: all, enable.idempotence: false, linger.ms: 0, request.timeout.ms: 500, delivery.timeout.ms: 5000}
rules:
  slow: {select: {api: Fetch, replica: any, share: 0.4}, act: {delay_ms: 15}}
  crash: {when: {acked_records: [1, 5], delay_ms: [0, 20]}, act: {kill: leader of orders-0}}
  back: {when: {after: crash, delay_ms: [200, 600]}, act: {restart: killed by crash}}
expect: {}
"""
NEVER_MATCHING = [
    {"select": {"client": "no-such-client"}, "phase": phase, "act": "disconnect", "optional": True}
    for phase in ("before_parse", "before_append", "after_append", "after_replication", "before_response")
] + [
    {"select": {"client": "no-such-client"}, "phase": "mid_response", "act": {"cut_bytes": 1}, "optional": True},
    {"select": {"api": "Fetch", "replica": "any", "nth": 10**9}, "act": "hold", "optional": True},
]  # fmt: skip


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    path = tmp_path_factory.mktemp("observation") / "crash.yaml"
    path.write_text(SCENARIO)
    return load_scenario(path)


def outcome(scenario: Scenario, seed: int, detail: Detail, rules: Sequence[dict[str, object]]) -> list[str]:
    """The cluster's events, with their times, and the records in the logs at the end."""
    run = VirtualRun(scenario, seed, link_delay_ms=0.4 * (seed % 2), journal_detail=detail)
    for rule in parse_rules(list(rules)):
        run.cluster.faults.add(rule)
    stored = run.run(None).truth.stored
    events = (event for event in run.cluster.journal.events if event.detail is Detail.CLUSTER)
    return [repr(each) for each in (*events, *stored)]


def test_neither_a_full_journal_nor_rules_that_never_match_change_a_run(scenario: Scenario) -> None:
    different = []
    for seed in range(SEEDS):
        plain = outcome(scenario, seed, Detail.CLUSTER, ())
        journalled = outcome(scenario, seed, Detail.FULL, ())
        watched = outcome(scenario, seed, Detail.CLUSTER, NEVER_MATCHING)
        if not plain == journalled == watched:
            different.append(seed)
    assert different == []


def test_another_seed_has_other_events(scenario: Scenario) -> None:
    first, second = (outcome(scenario, seed, Detail.CLUSTER, ()) for seed in (1, 2))
    assert first != second
    assert {"BrokerKilled", "LeaderElected", "IsrChanged"} <= {text.partition("(")[0] for text in first}
