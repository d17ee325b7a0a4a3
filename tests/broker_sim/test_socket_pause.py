"""A broker of a `ThreadedCluster` that stands still, and goes on."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING

import pytest

from broker_sim.control.events import BrokerPaused, BrokerResumed
from broker_sim.errors import BrokerSimError
from broker_sim.threaded_cluster import ThreadedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS_MAX = 20
API_VERSIONS = struct.pack(">iHHih", 10, 18, 0, 1, -1)
"""A request of version 0 without a client id."""


@pytest.fixture
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=2, topics=["orders:1:2"], quick_failover=True) as found:
        yield found


def test_a_paused_leader_is_replaced_and_returns_as_a_follower(cluster: ThreadedCluster) -> None:
    cluster.pause(1)
    assert [each.paused for each in cluster.brokers()] == [True, False]
    assert cluster.wait_for_leader("orders", other_than=1) == 2
    cluster.resume(1)
    assert sorted(cluster.wait_for_isr("orders")) == [1, 2]
    assert [each.paused for each in cluster.brokers()] == [False, False]


def test_a_request_waits_and_is_served_at_the_resumption(cluster: ThreadedCluster) -> None:
    host, _, port = cluster.bootstrap_servers.split(",")[0].rpartition(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS_MAX) as connection:
        for received in (1, 2):
            connection.sendall(API_VERSIONS)
            if received == 2:
                # The reactor has looked at its sockets before it makes a call from another thread.
                assert [len(cluster.requests("ApiVersions")) for _ in range(3)] == [1, 1, 1]
                cluster.resume(1)
            assert connection.recv(4) != b""
            assert len(cluster.requests("ApiVersions")) == received
            connection.recv(1 << 16)
            if received == 1:
                cluster.pause(1)


def test_a_new_connection_waits_in_the_queue_of_the_system(cluster: ThreadedCluster) -> None:
    cluster.pause(1)
    host, _, port = cluster.bootstrap_servers.split(",")[0].rpartition(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS_MAX) as connection:
        assert cluster.connections() == []
        cluster.resume(1)
        assert connection.getpeername()[1] == int(port)


def test_a_paused_broker_can_be_killed_and_started_again(cluster: ThreadedCluster) -> None:
    cluster.pause(1)
    cluster.pause(1)  # without effect
    cluster.kill(1)
    cluster.resume(1)  # without effect
    assert not cluster.brokers()[0].paused
    cluster.restart(1)
    assert sorted(cluster.wait_for_isr("orders")) == [1, 2]


def test_a_dead_broker_cannot_be_paused(cluster: ThreadedCluster) -> None:
    cluster.kill(1)
    with pytest.raises(BrokerSimError, match="broker 1 is down: nothing can be paused"):
        cluster.pause(1)


def test_a_rule_pauses_and_continues_a_broker(cluster: ThreadedCluster) -> None:
    pause = cluster.add_rule({"act": {"pause": 1}, "until": {"event": {"kind": "LeaderElected", "topic": "orders"}}})
    assert cluster.wait_for_leader("orders", other_than=1) == 2
    cluster.wait_for_isr("orders")
    assert cluster.rule_reports()[0].fired == 1, pause
    changes = [type(event) for event in cluster.events() if isinstance(event, BrokerPaused | BrokerResumed)]
    assert changes == [BrokerPaused, BrokerResumed]
