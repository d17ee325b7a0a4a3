"""Listeners with faults, on a simulated network and on sockets."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet import error

from broker_sim.threaded_cluster import ThreadedCluster
from tests.broker_sim.wire_clients import WireNetwork, exchange

if TYPE_CHECKING:
    from collections.abc import Iterator

CLOSE = pytest.approx
PATIENCE_S = 20.0


@pytest.fixture
def network() -> WireNetwork:
    return WireNetwork()


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    with ThreadedCluster(brokers=1) as made:
        yield made


@pytest.fixture
def connect(cluster: ThreadedCluster) -> Iterator[Any]:
    host, _, port = cluster.bootstrap_servers.rpartition(":")
    with ExitStack() as stack:
        yield lambda timeout_s=PATIENCE_S: stack.enter_context(socket.create_connection((host, int(port)), timeout_s))


def test_a_refused_client_connects_when_that_is_over(network: WireNetwork) -> None:
    open_before = network.client()
    end = network.cluster.wire.refuse((1,))
    refused = network.client()
    assert isinstance(refused.reason, error.ConnectionRefusedError)
    assert network.client(broker=2).ended_ms is None
    end()
    network.run(1)
    assert network.exchange(network.client()) == CLOSE(0, abs=1)
    assert network.exchange(open_before) == CLOSE(0, abs=1)


def test_an_accepted_connection_may_be_closed_at_once(network: WireNetwork) -> None:
    end = network.cluster.wire.close_accepted((1,))
    client = network.client()
    assert client.opened_ms is not None
    assert client.ended_ms is not None
    end()
    assert network.exchange(network.client()) == CLOSE(0, abs=1)


def test_a_full_queue_swallows_connections(network: WireNetwork) -> None:
    end = network.cluster.wire.hold_accepts((1,), 1, None)
    queued, outside = network.client(), network.client(timeout_s=0.5)
    assert network.exchange(queued) is None
    assert isinstance(outside.reason, error.TimeoutError)
    end()
    network.run(1)
    assert len(queued.responses) == 1


def test_connections_are_accepted_one_by_one(network: WireNetwork) -> None:
    network.cluster.wire.hold_accepts((1,), 10, 50)
    clients = [network.client() for _ in range(3)]
    begin_ms = clients[0].opened_ms or 0
    for client in clients:
        client.send()
    network.run(200)
    assert [client.responses[0] - begin_ms for client in clients] == [CLOSE(each, abs=1) for each in (50, 100, 150)]


def test_a_listener_fault_holds_for_the_next_incarnation(network: WireNetwork) -> None:
    end = network.cluster.wire.refuse((1,))
    network.cluster.kill(1)
    network.run(20_000)
    network.cluster.restart(1)
    network.run(20_000)
    assert isinstance(network.client().reason, error.ConnectionRefusedError)
    end()
    network.run(1)
    assert network.exchange(network.client()) == CLOSE(0, abs=1)


def test_listeners_refuse_and_accept_again(cluster: ThreadedCluster, connect: Any) -> None:
    end = cluster.call(cluster.cluster.wire.refuse, (1,))
    cluster.call(lambda: None)  # a socket closes at the end of the loop iteration
    with pytest.raises(ConnectionRefusedError):
        connect()
    cluster.call(end)
    exchange(connect())


def test_a_syn_without_reply(cluster: ThreadedCluster, connect: Any) -> None:
    end = cluster.call(cluster.cluster.wire.hold_accepts, (1,), 0, None)
    with pytest.raises(TimeoutError):
        connect(0.1)
    cluster.call(end)
    exchange(connect())


def test_an_accepted_connection_is_closed(cluster: ThreadedCluster, connect: Any) -> None:
    end = cluster.call(cluster.cluster.wire.close_accepted, (1,))
    assert connect().recv(1) == b""
    cluster.call(end)
    exchange(connect())
