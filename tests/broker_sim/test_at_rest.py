"""A cluster is not at rest while a client's request waits in its connection, or under a rule."""

from __future__ import annotations

import socket

from broker_sim import ThreadedCluster
from tests.broker_sim.network.conftest import api_versions_request


def test_a_cluster_is_not_at_rest_while_a_request_waits_behind_a_held_one() -> None:
    with ThreadedCluster(brokers=1) as cluster:
        cluster.add_rule({"name": "held", "select": {"api": "ApiVersions"}, "times": 1, "act": "hold"})
        host, port = cluster.bootstrap_servers.split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(api_versions_request(1) + api_versions_request(2))
            cluster.wait_for_rule("held")
            assert cluster.call(cluster.cluster.pending) == [
                "broker 1 has 1 requests that wait behind others",
                "rule 'held' delays or holds 1 requests",
            ]
            cluster.release_rule("held")
            assert cluster.call(cluster.cluster.pending) == []
