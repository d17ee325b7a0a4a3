"""Foreign clients drive scenarios over TCP: the players, the history and the verdict are those of every run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_scenarios.evidence import judged
from broker_scenarios.language.scenario import load_scenario
from broker_scenarios.table import load_progress
from broker_scenarios.targets.upstream import attached_to
from broker_scenarios.tcp_run import run_attached, run_locally
from broker_sim.threaded_cluster import ThreadedCluster

if TYPE_CHECKING:
    from pathlib import Path

    from broker_scenarios.evidence import Evidence
    from broker_scenarios.run_record import RunRecord

HEAD = """
title: t
cluster: {brokers: 1, config: {offsets.topic.replication.factor: 1, group.initial.rebalance.delay.ms: 0,
  transaction.state.log.replication.factor: 1, transaction.state.log.min.isr: 1}}
topics: {orders: {partitions: 2, replication_factor: 1}}
deadline_s: 60
"""
READS_AND_WRITES = """
clients:
  app:
    driver: DRIVER
    producer: {acks: all}
    script:
      - {send: {count: 3, partition: 1, key: k, headers: {h: v}, wait: true}}
      - {send: {count: 5, every_ms: 1}}
      - flush
      - close
  fed: {driver: DRIVER, producer: {acks: all}, load: {records: 20, rate_per_second: 400}}
  reader:
    driver: DRIVER
    consumer: {auto.offset.reset: earliest, enable.auto.commit: false, group.id: g}
    script: [{wait: {client: app}}, {wait: {client: fed}}, {subscribe: [orders]}, {poll: 28}, commit_offsets, close]
    final_polls: true
rules: {lose: {select: {api: Produce, client: app, nth: 2}, phase: before_response, act: {delay_ms: 50}}}
expect: {lost: 0, unseen: 0, outcome: {ok: 28}}
"""
TRANSACTIONS = """
clients:
  app:
    driver: DRIVER
    producer: {transactional.id: t}
    script: [init, begin, {send: 2}, flush, commit, begin, {send: 1}, flush, abort, close]
expect: {stored: 2, transactions: {ok: 1, fail: 1}}
"""
KILLED = """
clients:
  app:
    driver: DRIVER
    producer: {acks: all}
    script:
      - {send: {wait: true}}
      - {act: {pause_client: app}}
      - {send: {wait: true}}
      - crash
      - {restart: {}}
      - {send: {wait: true}}
      - exit
rules:
  later: {when: {acked_records: 1, delay_ms: 300}, act: {resume_client: app}}
expect: {lost: 0, outcome: {ok: 3}}
"""
DRIVERS = ("confluent-kafka", "aiokafka", "kafka-python")


def run(folder: Path, text: str, driver: str) -> tuple[Evidence, RunRecord]:
    path = folder / "case.yaml"
    path.write_text(HEAD + text.replace("DRIVER", driver))
    scenario = load_scenario(path)
    with load_progress(scenario.name, scenario.records) as progress:
        evidence = run_locally(scenario, 1, progress)
    return evidence, judged(evidence, engine=None)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("text", [READS_AND_WRITES, TRANSACTIONS, KILLED], ids=["load", "transactions", "killed"])
def test_a_foreign_client_is_driven_and_judged(tmp_path: Path, driver: str, text: str) -> None:
    _, record = run(tmp_path, text, driver)
    assert record.judgement.misses == ()


def test_a_foreign_client_behind_the_proxy_of_a_running_cluster(tmp_path: Path) -> None:
    path = tmp_path / "case.yaml"
    path.write_text(HEAD + READS_AND_WRITES.replace("DRIVER", "confluent-kafka"))
    scenario = load_scenario(path)
    config = {"offsets.topic.replication.factor": 1, "group.initial.rebalance.delay.ms": 0}
    with ThreadedCluster(brokers=1, config=config) as cluster, load_progress("", 0) as progress:
        host, _, port = cluster.bootstrap_servers.partition(":")
        evidence = run_attached(scenario, 1, progress, attached_to((host, int(port)), None))
    assert judged(evidence, engine=None).judgement.misses == ()
