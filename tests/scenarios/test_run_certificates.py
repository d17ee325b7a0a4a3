"""A run has its certificates wherever the scenario refers to them, and its texts keep the references."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cryptography import x509

from broker_scenarios.language.steps import Act
from broker_scenarios.run_certificates import with_certificates
from broker_sim.faults.actions.cluster.alter_config import AlterConfig
from tests.scenarios.playing.runs import scenario_of

if TYPE_CHECKING:
    from pathlib import Path

FILE = """
title: certificates
topics: {orders: {partitions: 1, replication_factor: 1}}
cluster:
  brokers: 1
  certificates: {first: {valid_until_s: 20}, second: {}}
  config: {ssl.keystore.key: "${certificates:first:key}"}
clients:
  app:
    producer: {ssl.truststore.certificates: "${certificates:first:authority} and more"}
    script:
      - {repeat: {times: 2, steps: [{act: {alter_config: {broker: 1, config: {a: "${certificates:second:chain}"}}}}]}}
      - close
rules:
  renewed: {act: {alter_config: {broker: 1, config: {a: "${certificates:second:key}"}}}}
  slow: {select: {api: Produce, topic: orders, partition: 0}, act: {delay_ms: 5}}
expect: {verdict: valid}
"""
STARTED_S = 1_700_000_000


def test_each_reference_is_filled_in(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path, FILE)
    made = with_certificates(scenario, STARTED_S + 0.7)
    (app,) = made.clients
    assert made.broker_config["ssl.keystore.key"].startswith("-----BEGIN PRIVATE KEY-----")
    assert app.producer is not None
    assert app.producer["ssl.truststore.certificates"].endswith("-----END CERTIFICATE-----\n and more")
    (act,) = app.script[0].steps  # type: ignore[union-attr]
    assert isinstance(act, Act)
    assert act.act["alter_config"]["config"]["a"].startswith("-----BEGIN CERTIFICATE-----")
    rule, slow = made.rules
    assert slow == scenario.rules[1]
    assert isinstance(rule.act, AlterConfig)
    assert str(rule.act.config["a"]).startswith("-----BEGIN PRIVATE KEY-----")
    assert rule.act.config["a"] != made.broker_config["ssl.keystore.key"]
    assert (made.rule_texts, made.document) == (scenario.rule_texts, scenario.document)


def test_validity_counts_from_the_start_of_the_run(tmp_path: Path) -> None:
    chain = "${certificates:first:chain}"
    scenario = replace(scenario_of(tmp_path, FILE), broker_config={"chain": chain})
    pem = with_certificates(scenario, STARTED_S + 0.7).broker_config["chain"]
    assert x509.load_pem_x509_certificate(pem.encode()).not_valid_after_utc.timestamp() == STARTED_S + 20


def test_a_scenario_without_certificates_stays(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path, FILE)
    document = {**scenario.document, "cluster": {"brokers": 1}}
    without = replace(scenario, document=document)
    assert with_certificates(without, STARTED_S) is without
