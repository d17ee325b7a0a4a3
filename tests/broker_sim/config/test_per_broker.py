"""Configurations of single brokers: who gets what, and who is refused."""

from __future__ import annotations

import pytest

from broker_sim.cluster import Cluster
from broker_sim.config.per_broker import split_by_broker
from broker_sim.errors import ConfigError
from sim_runtime.world import World


def test_a_brokers_own_configuration_goes_before_everybodys() -> None:
    common, own = split_by_broker({"a": "1", "b": "1", "2:b": "2", "2:c": "3", "3:a": "4"}, [1, 2, 3])
    assert common == {"a": "1", "b": "1"}
    assert own == {2: {"a": "1", "b": "2", "c": "3"}, 3: {"a": "4", "b": "1"}}


@pytest.mark.parametrize("name", ["4:broker.rack", "0:broker.rack", "x:broker.rack", ":broker.rack"])
def test_a_broker_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(ConfigError, match=r"is not a broker: they are 1 to 3"):
        split_by_broker({name: "a"}, [1, 2, 3])


def test_an_unknown_name_of_one_broker_is_refused() -> None:
    world = World(0)
    with pytest.raises(ConfigError, match=r"broker.rock.*broker.rack"):
        Cluster(reactor=world.reactor, streams=world.streams, config={"2:broker.rock": "a"}, listen=False)


def test_brokers_stand_in_racks_of_their_own() -> None:
    world = World(0)
    cluster = Cluster(
        reactor=world.reactor,
        streams=world.streams,
        config={"broker.rack": "a", "2:broker.rack": "b"},
        listen=False,
    )
    cluster.start()
    assert [broker.rack for broker in cluster.controller.image.brokers.values()] == ["a", "b", "a"]
    cluster.close()
