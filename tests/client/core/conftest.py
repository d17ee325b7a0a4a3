"""Small clients on a scripted cluster, in the simulated world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_client.core.network.client_core import ClientCore, ClientOptions
from broker_client.core.network.network_client import NetworkClientConfig
from tests.client.scripted_broker import PORT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sim_runtime.world import World
    from tests.client.scripted_broker import ScriptedCluster


@pytest.fixture
def client_on(world: World) -> Iterator[Callable[..., ClientCore]]:
    """Make clients on a cluster, with options of NetworkClientConfig; at the end every one is closed."""
    made: list[ClientCore] = []

    def make(
        cluster: ScriptedCluster, servers: Iterable[tuple[str, int]] = (("broker-1", PORT),), **network: Any
    ) -> ClientCore:
        options = ClientOptions(
            bootstrap_servers=tuple(servers), network=NetworkClientConfig(client_id="test", **network)
        )
        made.append(ClientCore(options, cluster.client, world.streams.stream("client")))
        return made[-1]

    yield make
    for client in made:
        client.close()
    world.run_for(ms=10)
