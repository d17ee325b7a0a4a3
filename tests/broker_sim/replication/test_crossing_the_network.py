"""Requests between brokers cross the simulated network between their hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.cluster import Cluster
from broker_sim.errors import BrokerSimError
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

CONFIG = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500", "replica.lag.time.max.ms": "2000"}


@pytest.fixture
def crossing(replicas: Callable[..., Any]) -> Any:
    made = replicas(config=CONFIG, on_network=True)
    made.run(ms=100)
    return made


def produced_ms(crossing: Any, *values: int) -> float:
    began_us = crossing.reactor.now_us
    responses = crossing.send(*values, timeout_ms=60_000)
    while not responses:
        crossing.run(ms=1)
    assert not responses[0].error_code
    return (crossing.reactor.now_us - began_us) / 1000


def test_acknowledgements_take_the_latency_of_the_slowest_way(crossing: Any) -> None:
    assert produced_ms(crossing, 1) < 5
    crossing.world.network.link("b1", "b3").latency_ms = 40
    assert 40 <= produced_ms(crossing, 2) < 100


def test_large_batches_take_the_bandwidth_between_brokers(crossing: Any) -> None:
    for follower in ("b2", "b3"):
        crossing.world.network.link("b1", follower).bandwidth_bytes_per_s = 1_000
    # The fetched batch, the rest of its response, and little else: nothing is fetched twice.
    assert 200 < produced_ms(crossing, *range(20)) < 1_500


def test_a_host_that_is_cut_off_loses_its_leadership_and_follows_when_it_is_back(crossing: Any) -> None:
    crossing.world.network.isolate("b1")
    crossing.run(ms=6_000)
    assert crossing.leader() in {2, 3}
    assert 1 not in crossing.isr()
    crossing.world.network.rejoin("b1")
    crossing.settle()
    assert sorted(crossing.isr()) == [1, 2, 3]


def test_a_cut_between_two_brokers_shrinks_the_isr_and_the_other_follower_stays(crossing: Any) -> None:
    network = crossing.world.network
    for way in (network.link("b1", "b2"), network.link("b2", "b1")):
        way.cut()
    crossing.produce(1, acks=1)
    crossing.run(ms=6_000)
    assert crossing.isr() == (1, 3)
    for way in (network.link("b1", "b2"), network.link("b2", "b1")):
        way.restore()
    crossing.settle()
    assert sorted(crossing.isr()) == [1, 2, 3]


def test_a_held_way_keeps_fetches_and_delivers_them_in_order(crossing: Any) -> None:
    way = crossing.world.network.link("b1", "b3")
    way.hold()
    responses = crossing.send(1)
    crossing.run(ms=500)
    assert not responses
    way.release()
    crossing.run(ms=5)
    assert crossing.values(3) == [1]


def test_an_error_names_the_missing_hosts_of_brokers() -> None:
    world = World(0)
    cluster = Cluster(reactor=world.reactor, streams=world.streams)
    with pytest.raises(BrokerSimError, match="broker 1 is on no simulated network: see broker_reactor"):
        cluster.attach_to_network(world.network)


def test_links_in_use_stay_as_they_are(crossing: Any) -> None:
    with pytest.raises(BrokerSimError, match="links that were used already cannot be attached to a network"):
        crossing.cluster.attach_to_network(crossing.world.network)
