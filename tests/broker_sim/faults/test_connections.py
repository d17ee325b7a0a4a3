from __future__ import annotations

from random import Random
from typing import Any

import pytest
from twisted.internet import error

from broker_sim.faults.link_action import Ends, WireFault
from sim_runtime.wire_shaping import Cut, Latency, Limit, Vanished
from tests.broker_sim.wire_clients import WireNetwork

CLOSE = pytest.approx
APP = Ends(clients=("app",))


@pytest.fixture
def network() -> WireNetwork:
    return WireNetwork()


def fault(sources: Ends, targets: Ends, *impairments: Any, **options: Any) -> WireFault:
    return WireFault(sources=sources, targets=targets, impairments=impairments, random=Random(3), **options)


@pytest.mark.parametrize("both_ways", [False, True])
def test_a_fault_applies_to_open_and_to_new_connections_of_its_clients(network: WireNetwork, both_ways: bool) -> None:
    open_before, other = network.client("app"), network.client("other")
    assert network.exchange(open_before) == CLOSE(0, abs=1)
    end = network.cluster.wire.begin(fault(APP, Ends(nodes=(1,)), Latency(20, 20), both_ways=both_ways))
    expected = 40 if both_ways else 20
    assert network.exchange(open_before) == CLOSE(expected, abs=1)
    new = network.client("app")
    assert network.exchange(new) == CLOSE(expected, abs=1)
    assert network.exchange(new) == CLOSE(expected, abs=1)
    assert network.exchange(other) == CLOSE(0, abs=1)
    assert network.exchange(network.client("app", broker=2)) == CLOSE(0, abs=1)
    end()
    for client in (open_before, new, other, network.client("app")):
        assert network.exchange(client) == CLOSE(0, abs=1)


def test_the_client_of_an_idle_connection_is_read_from_its_first_bytes(network: WireNetwork) -> None:
    idle, other = network.client("app"), network.client("other")
    network.cluster.wire.begin(fault(APP, Ends(nodes=(1, 2)), Latency(20, 20)))
    assert network.exchange(idle) == CLOSE(20, abs=1)
    assert network.exchange(other) == CLOSE(0, abs=1)
    network.cluster.wire.begin(fault(Ends(clients=("o*",)), Ends(nodes=(1,)), Latency(7, 7)))
    assert network.exchange(other) == CLOSE(7, abs=1)


def test_downstream_faults_leave_requests_alone(network: WireNetwork) -> None:
    client = network.client("app")
    network.cluster.wire.begin(fault(Ends(nodes=(1,)), APP, Limit(10)))
    assert network.exchange(client) is None
    assert client.received == 10
    assert client.ended_ms is not None


def test_a_cut_connection_resumes_with_what_was_lost(network: WireNetwork) -> None:
    client = network.client("app")
    end = network.cluster.wire.begin(fault(APP, Ends(nodes=(1,)), Cut()))
    assert network.exchange(client, within_ms=150) is None
    end()
    network.run(100)
    assert len(client.responses) == 1


def test_a_share_of_the_connections_is_chosen(network: WireNetwork) -> None:
    clients = [network.client("app") for _ in range(20)]
    network.cluster.wire.begin(fault(APP, Ends(nodes=(1,)), Latency(20, 20), share=0.5))
    slow = [network.exchange(client) == CLOSE(20, abs=1) for client in clients]
    assert 5 < sum(slow) < 15
    assert [network.exchange(client) == CLOSE(20, abs=1) for client in clients] == slow


def test_a_connection_that_its_broker_has_closed_stays_half_open(network: WireNetwork) -> None:
    client = network.client("app")
    network.exchange(client)
    end = network.cluster.wire.begin(fault(APP, Ends(nodes=(1,)), Vanished(), both_ways=True))
    network.cluster.kill(1)
    network.run(100)
    assert client.ended_ms is None
    end()
    network.run(1)
    assert isinstance(client.reason, error.ConnectionLost)


def test_the_end_of_the_cluster_resets_half_open_connections(network: WireNetwork) -> None:
    client = network.client("app")
    network.cluster.wire.begin(fault(APP, Ends(nodes=(1,)), Vanished(), both_ways=True))
    network.exchange(client)
    network.cluster.close()
    network.run(1)
    assert client.ended_ms is not None


def test_open_connections_are_closed(network: WireNetwork) -> None:
    clients = [network.client("app"), network.client("other")]
    for client in clients:
        network.exchange(client)
    assert network.cluster.wire.close_connections((1,), "a*") == 1
    network.run(1)
    assert [client.ended_ms is None for client in clients] == [False, True]


def test_a_run_with_shaped_connections_repeats_itself() -> None:
    def run() -> str:
        network = WireNetwork()
        network.cluster.wire.begin(fault(APP, Ends(nodes=(1,)), Latency(0, 20), both_ways=True, share=0.7))
        for _ in range(5):
            network.exchange(network.client("app"), within_ms=30)
        network.cluster.close()
        return network.world.fingerprint()

    assert run() == run()
