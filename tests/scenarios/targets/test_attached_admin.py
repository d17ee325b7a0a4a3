from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios.cli import main
from broker_sim.config.config_resource import ResourceType
from broker_sim.threaded_cluster import ThreadedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CASE = """
title: t
cluster: {brokers: 2}
topics: {orders: {partitions: 1, replication_factor: 2}}
clients:
  app:
    producer: {linger.ms: 0}
    script: [{send: {wait: true}}, STEPS, {wait: 500}, {send: {wait: true}}, close]
rules: {at-first: {act: {ACT}}}
expect: {verdict: any, outcome: {ok: 2}}
"""
CONFIG = "{topic: orders, config: {retention.ms: 900000}}"


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=2) as threaded:
        yield threaded


def run(cluster: ThreadedCluster, folder: Path, act: str, steps: str = "flush") -> int:
    path = folder / "case.yaml"
    path.write_text(CASE.replace("ACT", act).replace("STEPS", steps))
    address = cluster.bootstrap_servers.partition(",")[0]
    return main(["run", str(path), "--attach", address, "--report", str(folder / "report.html")])


@pytest.mark.parametrize(
    "steps",
    [
        "{act: {move_leader: {partition: orders-0, to: 2}}}, {wait: {event: {kind: LeaderElected, broker_id: 2}}}",
        "{act: {reassign: {partition: orders-0, replicas: [2]}}}, {wait: {event: {kind: LeaderElected}}}",
        "{act: {add_partitions: {topic: orders, count: 2}}}",
        "{act: {alter_config: {topic: orders, config: {min.insync.replicas: 2}}}}",
        "{act: {alter_config: {all_brokers: true, config: {log.retention.ms: 90000}}}}",
        "{act: {alter_quota: {client_id: other, quotas: {producer_byte_rate: 1000}}}}",
        "{act: {create_topic: {topic: bills, partitions: 2}}}, {wait: 300}, {act: {recreate_topic: bills}}",
        "{act: {create_topic: bills}}, {wait: 300}, {act: {delete_topic: bills}}",
        "{act: {delete_records: orders-0}}",
    ],
)
def test_acts_become_requests_and_leave_nothing(cluster: ThreadedCluster, tmp_path: Path, steps: str) -> None:
    assert run(cluster, tmp_path, f"alter_config: {CONFIG}", steps) == 0
    assert set(cluster.call(lambda: cluster.cluster.partition_counts)) <= {"__consumer_offsets"}
    image: Any = cluster.cluster.controller.committed_image
    assert "log.retention.ms" not in image.config_of(ResourceType.BROKER, "")
    assert not image.client_quotas


def test_an_error_of_the_cluster_is_the_problem_of_the_rule(
    cluster: ThreadedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(cluster, tmp_path, "alter_config: {topic: orders, config: {min.insync.replicas: many}}") == 1
    assert "rule 'at-first'" in capsys.readouterr().out
