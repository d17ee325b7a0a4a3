"""kafka-features, -metadata-quorum, -cluster and -client-metrics of each release, on our brokers of that release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_sim.threaded_cluster import ThreadedCluster
from tests.interop.kafka_release import RELEASES
from tests.interop.kafka_tools import Tools

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module", params=RELEASES)
def tools(request: pytest.FixtureRequest) -> Iterator[Tools]:
    with ThreadedCluster(brokers=3, release=request.param) as cluster:
        yield Tools(request.param, cluster.bootstrap_servers)


def test_features_are_described_and_changed(tools: Tools) -> None:
    newest = {"3.7.2": "3.7-IV4", "4.3.1": "4.3-IV0"}[tools.release]
    assert f"FinalizedVersionLevel: {newest}" in tools.run("FeatureCommand", "describe")
    if tools.release == "4.3.1":
        tools.run("FeatureCommand", "downgrade", "--feature", "share.version=0")
        described = tools.run("FeatureCommand", "describe")
        assert next(line for line in described.splitlines() if "share.version" in line).count("Level: 0") == 1
    else:
        tools.run("FeatureCommand", "downgrade", "--metadata", "3.7-IV3")
        assert "FinalizedVersionLevel: 3.7-IV3" in tools.run("FeatureCommand", "describe")


def test_the_quorum_is_described(tools: Tools) -> None:
    status = tools.run("MetadataQuorumCommand", "describe", "--status")
    assert "LeaderId:               1" in status
    replication = tools.run("MetadataQuorumCommand", "describe", "--replication")
    assert (replication.count("Leader"), replication.count("Follower")) == (1, 2)


def test_client_metrics_are_set_and_listed(tools: Tools) -> None:
    settings = ["--name", "slow-clients", "--metrics", "org.apache.kafka.producer.", "--interval", "30000"]
    tools.run("ClientMetricsCommand", "--alter", *settings)
    assert "slow-clients" in tools.run("ClientMetricsCommand", "--list")
    assert "interval.ms=30000" in tools.run("ClientMetricsCommand", "--describe", "--name", "slow-clients")


def test_a_broker_is_unregistered(tools: Tools) -> None:
    assert tools.run("ClusterTool", "cluster-id").startswith("Cluster ID: ")
    assert "Broker 3 is no longer registered." in tools.run("ClusterTool", "unregister", "--id", "3")
