"""A run with all that a world offers: connections that come and go, links that fail, draws. Prints its fingerprint."""

# ruff: noqa: ARG002, N802
# The names are those of Twisted's interfaces.

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from twisted.internet.protocol import ClientFactory, Protocol, ServerFactory

from sim_runtime.backoff import ExponentialBackoff
from sim_runtime.repeating_call import RepeatingCall
from sim_runtime.world import World

if TYPE_CHECKING:
    from twisted.python.failure import Failure

    from sim_runtime.virtual_host import HostReactor

HOSTS = ("amsterdam", "berlin", "cairo", "delhi")


class Gossip(Protocol):
    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name

    def dataReceived(self, data: bytes) -> None:
        self.world.digest.update(self.name, self.world.reactor.now_us, data)
        if len(data) > 1:
            self.transport.write(data[: len(data) // 2])


class Teller(ClientFactory):
    noisy = False

    def __init__(self, world: World, host: HostReactor) -> None:
        self.world = world
        self.host = host
        self.random = world.streams.stream(f"gossip/{host.name}")
        self.backoff = ExponentialBackoff(10, 1000, 2, 0.2, world.streams.stream(f"backoff/{host.name}"))
        self.failures = 0
        self.open: list[Gossip] = []

    def buildProtocol(self, addr: Any) -> Gossip:
        self.failures = 0
        self.open.append(Gossip(self.world, self.host.name))
        return self.open[-1]

    def spread(self) -> None:
        for peer in self.open:
            if peer.connected:
                peer.transport.write(self.random.randbytes(self.random.randrange(1, 3000)))
                if self.random.random() < 0.1:
                    peer.transport.loseConnection()
        self.open = [peer for peer in self.open if peer.connected]

    def clientConnectionFailed(self, connector: Any, reason: Failure) -> None:
        self._again(connector, reason)

    def clientConnectionLost(self, connector: Any, reason: Failure) -> None:
        self._again(connector, reason)

    def _again(self, connector: Any, reason: Failure) -> None:
        self.world.digest.update(self.host.name, reason.type.__name__)
        self.host.callLater(self.backoff.backoff_ms(self.failures) / 1000, connector.connect)
        self.failures += 1


def serve(world: World, host: HostReactor) -> None:
    factory = ServerFactory()
    factory.noisy = False
    factory.buildProtocol = lambda _: Gossip(world, host.name)
    host.listenTCP(9092, factory)


def trouble(world: World) -> None:
    random = world.streams.stream("trouble")
    link = random.choice(world.network.links())
    random.choice([link.cut, link.restore, link.restore, link.hold, link.release, link.release])()
    if random.random() < 0.1:
        host = world.network.host(random.choice(HOSTS))
        host.crash()
        serve(world, host)


def fingerprint(seed: int) -> str:
    world = World(seed)
    world.network.jitter_ms = 2
    world.network.loss = 0.01
    world.network.segment_bytes = 500
    hosts = [world.network.host(name) for name in HOSTS]
    for host in hosts:
        serve(world, host)
    for host in hosts:
        spreader = Teller(world, host)
        for other in hosts:
            host.connectTCP(other.name, 9092, spreader, timeout=2)
        RepeatingCall(host, 7, spreader.spread).start()
    RepeatingCall(world.reactor, 50, lambda: trouble(world)).start()
    world.run_for(ms=3_000)
    return f"{world.fingerprint()} {world.digest.count}"


if __name__ == "__main__":
    print(*[fingerprint(int(seed)) for seed in sys.argv[1:]], sep="\n")
