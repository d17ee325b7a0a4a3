from __future__ import annotations

import pytest

from broker_sim.errors import BrokerSimError
from broker_sim.threaded_cluster import ThreadedCluster


@pytest.mark.parametrize("release", ["4.3.1", "2.8.2"])
def test_the_new_cluster_has_the_old_addresses_and_nothing_else(release: str) -> None:
    with ThreadedCluster(brokers=2, topics=["orders:1:2"], release=release) as cluster:
        before = (cluster.bootstrap_servers, cluster.controller_bootstrap_servers)
        cluster.create_topic("more:1:1")
        cluster.kill(2)
        cluster.add_rule({"select": {"api": "Produce"}, "act": "hold"})
        cluster.reset()
        assert (cluster.bootstrap_servers, cluster.controller_bootstrap_servers) == before
        assert [topic.name for topic in cluster.topics()] == ["orders"]
        assert [broker.running for broker in cluster.brokers()] == [True, True]
        assert cluster.rule_reports() == []


def test_a_cluster_that_keeps_its_data_is_not_reset(tmp_path: object) -> None:
    with (
        ThreadedCluster(brokers=1, data_dir=str(tmp_path)) as cluster,
        pytest.raises(BrokerSimError, match="data_dir"),
    ):
        cluster.reset()
