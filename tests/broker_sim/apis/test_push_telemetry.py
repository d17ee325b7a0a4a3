"""client.telemetry.receiver: the telemetry APIs are listed, and what clients push is in the journal."""

from __future__ import annotations

import pytest

from broker_sim.cluster import Cluster
from sim_runtime.world import World

TELEMETRY = [71, 72]


def listed(release: str, **config: str) -> list[int]:
    world = World(1)
    cluster = Cluster(
        reactor=world.reactor,
        streams=world.streams,
        brokers=1,
        release=release,
        config={name.replace("_", "."): value for name, value in config.items()},
    )
    return [key for key in cluster.brokers[1].apis.advertised if key in TELEMETRY]


@pytest.mark.parametrize("release", ["3.7.2", "4.3.1"])
def test_a_receiver_makes_the_broker_list_what_it_serves(release: str) -> None:
    assert listed(release) == []
    assert listed(release, client_telemetry_receiver="true") == TELEMETRY


def test_an_older_broker_has_nothing_to_list() -> None:
    assert listed("3.6.2", client_telemetry_receiver="true") == []
