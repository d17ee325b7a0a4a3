"""A host whose processes are stopped: the kernel accepts, timers and protocols stand still."""

from __future__ import annotations

from twisted.internet.protocol import Factory, Protocol

from sim_runtime.world import World


class Recorder(Protocol):
    """Records what arrives and echoes it."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        self.events: list[str] = []

    def connectionMade(self) -> None:  # noqa: N802 - a name of Twisted
        self.events.append("made")

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - a name of Twisted
        self.received.append(data)

    def connectionLost(self, reason: object = None) -> None:  # noqa: ARG002, N802 - a name of Twisted
        self.events.append("lost")


class Recorders(Factory[Recorder]):
    """Makes recorders and keeps them."""

    def __init__(self) -> None:
        self.made: list[Recorder] = []

    def buildProtocol(self, addr: object) -> Recorder:  # noqa: ARG002, N802 - a name of Twisted
        self.made.append(Recorder())
        return self.made[-1]

    def startedConnecting(self, connector: object) -> None:  # noqa: N802 - a name of Twisted
        """Do nothing."""

    def clientConnectionLost(self, connector: object, reason: object) -> None:  # noqa: N802 - a name of Twisted
        """Do nothing."""


def connected(world: World) -> tuple[Recorders, Recorders]:
    servers, clients = Recorders(), Recorders()
    world.network.host("b").listenTCP(9092, servers)
    world.network.host("c").connectTCP("b", 9092, clients)  # type: ignore[arg-type]
    return servers, clients


def test_timers_and_bytes_wait_until_the_process_continues() -> None:
    world = World(1)
    host = world.network.host("b")
    servers, clients = connected(world)
    world.run_for(ms=100)
    fired: list[float] = []
    host.callLater(0.05, lambda: fired.append(host.seconds()))
    cancelled = host.callLater(0.05, lambda: fired.append(-1))
    host.stop_process()
    clients.made[0].transport.write(b"hello")
    world.run_for(ms=1_000)
    cancelled.cancel()
    assert (fired, servers.made[0].received) == ([], [])
    resumed_at = host.seconds()
    host.continue_process()
    world.run_for(ms=100)
    assert (fired, servers.made[0].received) == ([resumed_at], [b"hello"])


def test_a_connection_is_made_by_the_kernel_and_noticed_by_the_process_later() -> None:
    world = World(1)
    host = world.network.host("b")
    servers = Recorders()
    host.listenTCP(9092, servers)
    host.stop_process()
    clients = Recorders()
    world.network.host("c").connectTCP("b", 9092, clients)  # type: ignore[arg-type]
    world.run_for(ms=100)
    assert ([client.events for client in clients.made], servers.made) == ([["made"]], [])
    clients.made[0].transport.write(b"x")
    world.run_for(ms=100)
    host.continue_process()
    world.run_for(ms=100)
    assert [server.received for server in servers.made] == [[b"x"]]


def test_the_end_of_a_connection_is_noticed_later() -> None:
    world = World(1)
    host = world.network.host("b")
    servers, clients = connected(world)
    world.run_for(ms=100)
    host.stop_process()
    clients.made[0].transport.abortConnection()
    world.run_for(ms=100)
    assert servers.made[0].events == ["made"]
    host.continue_process()
    world.run_for(ms=100)
    assert servers.made[0].events == ["made", "lost"]
