"""Peers on the simulated network that record their events with the time."""

# ruff: noqa: ARG002, N802
# The names are those of Twisted's interfaces.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.protocol import ClientFactory, Protocol, ServerFactory

from sim_runtime.world import World

if TYPE_CHECKING:
    from twisted.python.failure import Failure


class Peer(Protocol):
    def __init__(self, clock: Any) -> None:
        self.clock = clock
        self.received = b""
        self.sizes: list[int] = []
        self.arrivals_us: list[int] = []
        self.connected_us: int | None = None
        self.lost_us: int | None = None
        self.reason: Exception | None = None

    def connectionMade(self) -> None:
        self.connected_us = self.clock.now_us

    def dataReceived(self, data: bytes) -> None:
        self.received += data
        self.sizes.append(len(data))
        self.arrivals_us.append(self.clock.now_us)

    def connectionLost(self, reason: Failure) -> None:
        self.lost_us = self.clock.now_us
        self.reason = reason.value


class Ends(ClientFactory, ServerFactory):
    """The factory of one side: its peers, and why it failed."""

    noisy = False

    def __init__(self, clock: Any) -> None:
        self.clock = clock
        self.peers: list[Peer] = []
        self.error: BaseException | None = None
        self.failed_us: int | None = None

    def buildProtocol(self, addr: Any) -> Peer:
        self.peers.append(Peer(self.clock))
        return self.peers[-1]

    def clientConnectionFailed(self, connector: Any, reason: Failure) -> None:
        self.error = reason.value
        self.failed_us = self.clock.now_us


class Network:
    """A world with the hosts `client` and `server`, and what is needed to connect them."""

    def __init__(self, seed: int = 5) -> None:
        self.world = World(seed)
        self.reactor = self.world.reactor
        self.client = self.world.network.host("client")
        self.server = self.world.network.host("server")
        self.there = self.world.network.link("client", "server")
        self.back = self.world.network.link("server", "client")

    def ends(self) -> Ends:
        return Ends(self.reactor)

    def listen(self, port: int = 9092) -> Ends:
        factory = self.ends()
        self.server.listenTCP(port, factory)
        return factory

    def connect(self, address: str = "server", port: int = 9092, timeout: float = 30) -> Ends:
        factory = self.ends()
        self.client.connectTCP(address, port, factory, timeout)
        return factory

    def pair(self) -> tuple[Peer, Peer]:
        """The two peers of a connection that is open."""
        server, client = self.listen(), self.connect()
        self.world.run_until(lambda: server.peers and server.peers[0].connected_us)
        return client.peers[0], server.peers[0]

    def since_us(self, begin_us: int) -> int:
        return self.reactor.now_us - begin_us


@pytest.fixture
def network() -> Network:
    return Network()


@pytest.fixture(scope="session")
def new_network() -> type[Network]:
    return Network
