"""A scope of two replicas and one batch: its whole space takes a second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_scenarios.language.scenario import load_scenario

if TYPE_CHECKING:
    from pathlib import Path

    from broker_scenarios.language.scenario import Scenario

SMALL_SCOPE = """
title: One batch, two replicas
cluster:
  brokers: 2
  {cluster}
  config: {{broker.session.timeout.ms: 1000, broker.heartbeat.interval.ms: 900, replica.fetch.backoff.ms: 5000}}
topics:
  orders: {{partitions: 1, replication_factor: 2}}
clients:
  app:
    {app}
    producer: {{acks: {acks}, enable.idempotence: false, retry.backoff.ms: 1200, retry.backoff.max.ms: 1200}}
    script: [{{send: 1}}, flush]
rules: {rules}
expect: {{{expect}}}
"""
CRASH = "{crash: {when: {at_ms: [0, 20]}, act: {kill: leader of orders-0}, optional: true}}"


def small_scope(
    folder: Path,
    acks: str,
    *,
    rules: str = CRASH,
    cluster: str = "",
    app: str = "",
    expect: str = "verdict: valid, lost: 0",
) -> Scenario:
    path = folder / "small.yaml"
    path.write_text(SMALL_SCOPE.format(acks=acks, rules=rules, cluster=cluster, app=app, expect=expect))
    return load_scenario(path)
