"""The topics of a load on any Kafka."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest

from broker_client import Admin
from broker_scenarios.errors import ScenarioError
from broker_scenarios.spark.bootstrap_topics import BootstrapTopics
from broker_sim.threaded_cluster import ThreadedCluster
from tests.scenarios.playing.runs import scenario_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from broker_scenarios.language.scenario import Scenario


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=2, topics=["taken:1:1"], config={"num.partitions": "3"}) as made:
        yield made


def scenario(folder: Path, topic: str = "orders", brokers: int = 2, config: str = "num.partitions: 3") -> Scenario:
    return scenario_of(
        folder,
        f"title: x\ncluster: {{brokers: {brokers}, config: {{{config}}}}}\n"
        f"topics: {{{topic}: {{partitions: 2, replication_factor: {brokers}}}}}\n"
        "load: {records: 1, producers: 1, rate_per_second: 1}\nexpect: {lost: 0}\n",
    )


def test_topics_exist_until_they_are_deleted(cluster: ThreadedCluster, tmp_path: Path) -> None:
    topics = BootstrapTopics(scenario(tmp_path), {"bootstrap.servers": cluster.bootstrap_servers})
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        found = admin.describe_topics(["orders"])["orders"].partitions
        assert [(len(each.replicas), each.leader is not None) for each in found] == [(2, True), (2, True)]
        assert topics.settle(within_s=10) is None
        cluster.stop(2)
        assert "orders-0 has a replica that is not in sync" in (topics.settle(within_s=0) or "")
        cluster.restart(2)
        assert topics.settle(within_s=20) is None
        topics.delete()
        assert [*admin.list_topics()] == ["taken"]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"topic": "taken"}, "the topics of .* cannot be created: .*taken"),
        ({"brokers": 3}, "it has 2 brokers, .* needs 3"),
        ({"config": "num.partitions: 4"}, "its cluster has num.partitions=4; broker 1 has 3"),
    ],
)
def test_what_the_cluster_lacks_is_named(
    cluster: ThreadedCluster, tmp_path: Path, wanted: dict[str, Any], message: str
) -> None:
    with pytest.raises(ScenarioError, match=message):
        BootstrapTopics(scenario(tmp_path, **wanted), {"bootstrap.servers": cluster.bootstrap_servers})


def test_a_cluster_that_does_not_respond_is_named_with_the_option(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        servers = f"127.0.0.1:{silent.getsockname()[1]}"
        client = {"bootstrap.servers": servers, "default.api.timeout.ms": "50"}
        with pytest.raises(ScenarioError) as refused:
            BootstrapTopics(scenario(tmp_path), client)
    assert str(refused.value).startswith(f"{servers}: ")
    assert str(refused.value).endswith("; default.api.timeout.ms in the file of -F allows more")
