"""Tools with --bootstrap-controller of each release (KIP-919), at the listeners of our controllers of that release."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from broker_sim.threaded_cluster import ThreadedCluster
from tests.interop.kafka_release import RELEASES
from tests.interop.kafka_tools import Tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.interop

CONTROLLERS = (3000, 3001, 3002)


@pytest.fixture(scope="module", params=RELEASES)
def cluster(request: pytest.FixtureRequest) -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=2, controllers=len(CONTROLLERS), release=request.param) as cluster:
        yield cluster


@pytest.fixture
def run(cluster: ThreadedCluster) -> Callable[..., str]:
    """Runs a tool against the controllers; `at` names one of them."""
    tools = Tools(cluster.cluster.config.release, cluster.bootstrap_servers)

    def run(name: str, *arguments: str, at: int | None = None, status: int = 0) -> str:
        servers = cluster.controller_bootstrap_servers
        if at is not None:
            host, port = cluster.cluster.controller_endpoints[at]
            servers = f"{host}:{port}"
        # kafka-cluster wants its verb first, the others the servers.
        verb, rest = (arguments[:1], arguments[1:]) if name == "ClusterTool" else ((), arguments)
        return tools.run_bare(name, *verb, "--bootstrap-controller", servers, *rest, status=status)

    return run


def test_the_quorum_is_described(run: Callable[..., str], cluster: ThreadedCluster) -> None:
    for at in (None, 3002):  # any controller names the others, and the tool finds the leader
        status = run("MetadataQuorumCommand", "describe", "--status", at=at)
        assert re.search(r"LeaderId:\s+3000", status)
        assert cluster.cluster.cluster_id in status
    replication = run("MetadataQuorumCommand", "describe", "--replication")
    assert sorted(re.findall(r"^(\d+)\s.*(Leader|Follower|Observer)", replication, re.MULTILINE)) == [
        ("1", "Observer"),
        ("2", "Observer"),
        ("3000", "Leader"),
        ("3001", "Follower"),
        ("3002", "Follower"),
    ]


def test_features_are_described(run: Callable[..., str]) -> None:
    described = run("FeatureCommand", "describe")
    assert re.search(r"Feature: metadata.version\s.*FinalizedVersionLevel: \S+", described)


def test_configurations_are_set_and_shown(run: Callable[..., str]) -> None:
    for name in (("--entity-default",), ("--entity-name", "3000")):
        entity = ("--entity-type", "brokers", *name)
        run("ConfigCommand", "--alter", *entity, "--add-config", "log.cleaner.threads=2")
        assert "log.cleaner.threads=2" in run("ConfigCommand", "--describe", *entity, at=3000)


def test_a_controllers_own_configuration_is_shown(run: Callable[..., str]) -> None:
    described = run(
        "ConfigCommand", "--describe", "--all", "--entity-type", "brokers", "--entity-name", "3000", at=3000
    )
    assert "node.id=3000" in described


def test_the_cluster_is_named_and_a_dead_broker_unregistered(run: Callable[..., str], cluster: ThreadedCluster) -> None:
    assert f"Cluster ID: {cluster.cluster.cluster_id}" in run("ClusterTool", "cluster-id")
    if cluster.cluster.config.release.startswith("3.7"):
        return  # its tool unregisters over brokers alone
    run("ClusterTool", "unregister", "--id", "77", status=1)
    cluster.kill(2)
    assert "no longer registered" in run("ClusterTool", "unregister", "--id", "2")


def test_the_tool_finds_the_next_leader(run: Callable[..., str], cluster: ThreadedCluster) -> None:
    cluster.call(cluster.cluster.kill_controller)
    status = run("MetadataQuorumCommand", "describe", "--status")
    assert re.search(r"LeaderId:\s+300[12]", status)
