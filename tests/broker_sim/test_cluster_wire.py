from __future__ import annotations

from random import Random
from typing import Any

import pytest

from broker_sim.cluster import Cluster
from broker_sim.faults.link_action import Ends, WireFault
from sim_runtime.wire_shaping import Cut
from sim_runtime.world import World
from tests.broker_sim.wire_clients import WireNetwork

CLOSE = pytest.approx
APP = Ends(clients=("app",))


@pytest.fixture
def network() -> WireNetwork:
    return WireNetwork()


def fault(sources: Ends, targets: Ends, *impairments: Any, **options: Any) -> WireFault:
    return WireFault(sources=sources, targets=targets, impairments=impairments, random=Random(3), **options)


def test_nodes_are_apart_in_one_direction_or_both(network: WireNetwork) -> None:
    cluster = network.cluster
    end = cluster.wire.begin(fault(Ends(nodes=(1,)), Ends(nodes=(1, 2)), Cut()))
    assert (cluster.link(1, 2).cut_off, cluster.link(2, 1).cut_off) == (True, False)
    both = cluster.wire.begin(fault(Ends(nodes=(1,)), Ends(nodes=(2,)), Cut(), both_ways=True))
    assert (cluster.link(1, 2).cut_off, cluster.link(2, 1).cut_off) == (True, True)
    both()
    assert (cluster.link(1, 2).cut_off, cluster.link(2, 1).cut_off) == (True, False)
    end()
    assert not cluster.link(1, 2).cut_off


def test_with_zookeeper_the_controllers_are_the_brokers_and_zookeeper() -> None:
    world = World(1)
    with_zookeeper = Cluster(reactor=world.reactor, streams=world.streams, brokers=2, release="2.8.2", listen=False)
    assert with_zookeeper.wire.controllers == (1, 2, 2181)
    quorum = Cluster(reactor=world.reactor, streams=world.streams, brokers=2, controllers=3, listen=False)
    assert quorum.wire.controllers == tuple(quorum.controller_ids)
