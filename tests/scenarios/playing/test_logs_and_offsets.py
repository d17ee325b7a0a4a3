"""The logs and the committed offsets of the brokers, beside the view of the clients of a run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from broker_scenarios.checks.per_partition.diverging_replicas import diverging_replicas
from broker_scenarios.virtual_run import VirtualRun
from tests.scenarios.playing.runs import play, scenario_of

if TYPE_CHECKING:
    from pathlib import Path

    from broker_scenarios.findings import Finding
    from broker_sim.cluster import Cluster
    from broker_sim.log.replica_log import ReplicaLog

HUNG = """
title: t
cluster:
  brokers: 1
  config: {transaction.state.log.replication.factor: 1, transaction.state.log.min.isr: 1}
topics: {orders: {partitions: 1, replication_factor: 1}}
clients:
  copier:
    producer: {transactional.id: t, transaction.timeout.ms: 1000, linger.ms: 0}
    script: [init, begin, {send: {wait: true}}, commit, close]
  other:
    producer: {linger.ms: 0}
    script: [{wait: {client: copier}}, {send: {count: 8, every_ms: 500, wait: true}}, close]
rules:
  marker:
    select: {api: WriteTxnMarkers, replica: any}
    phase: before_append
    act: hold
    until: {delay_ms: HELD}
expect: {verdict: any}
"""


@pytest.mark.parametrize(("held_ms", "hung"), [(6_000, 1), (1_500, 0)])
def test_a_stable_offset_that_stands_too_long_is_a_hung_transaction(tmp_path: Path, held_ms: int, hung: int) -> None:
    run = play(tmp_path, HUNG.replace("HELD", str(held_ms))).run
    assert run.verdict.found("hung-txn") == hung
    if hung:
        [group] = [group for group in run.verdict.groups if group.kind == "hung-txn"]
        assert group.examples[0].detail == "the last stable offset of orders-0 stands at 0 for 2048.56 ms"


RUN = """
title: t
cluster: {brokers: 3}
topics: {orders: {partitions: 1, replication_factor: 3}}
clients: {app: {producer: {linger.ms: 0}, script: [{send: {count: 5, wait: true}}, close]}}
expect: {replica-divergence: 0}
"""


def ended(folder: Path) -> Cluster:
    run = VirtualRun(scenario_of(folder, RUN), 1)
    run.run(None)
    return run.cluster


def log_of(cluster: Cluster, broker_id: int) -> ReplicaLog:
    log = cluster.log_of(broker_id, "orders", 0)
    assert log is not None
    return log


def divergences(cluster: Cluster) -> list[Finding]:
    return list(diverging_replicas(cluster, 1, log_of(cluster, 1)))


def test_equal_replicas_are_no_finding(tmp_path: Path) -> None:
    assert divergences(ended(tmp_path)) == []
    assert play(tmp_path, RUN).run.judgement.misses == ()


def test_other_bytes_at_an_offset_diverge_there(tmp_path: Path) -> None:
    cluster = ended(tmp_path)
    log = log_of(cluster, 3)
    removed = log.truncate_to(3).removed
    log.append_as_follower([replace(removed[0], data=removed[0].data[:-1] + b"?"), *removed[1:]], now_ms=0)
    [finding] = divergences(cluster)
    assert (finding.kind, finding.offset) == ("replica-divergence", 3)
    assert finding.detail == "broker 3 holds other records than the leader, broker 1, from 3 on"


def test_a_batch_below_the_high_watermark_that_a_member_of_the_isr_lacks_diverges(tmp_path: Path) -> None:
    cluster = ended(tmp_path)
    log_of(cluster, 2).truncate_to(4)
    assert [finding.offset for finding in divergences(cluster)] == [4]
    log_of(cluster, 1).high_watermark = 4
    assert divergences(cluster) == []


def test_what_compaction_has_touched_is_not_compared(tmp_path: Path) -> None:
    cluster = ended(tmp_path)
    log = log_of(cluster, 2)
    log.truncate_to(0)
    assert [finding.offset for finding in divergences(cluster)] == [0]
    log.first_dirty_offset = 5
    assert divergences(cluster) == []
