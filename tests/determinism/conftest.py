"""The benches on which one conformance kit runs: virtual hosts, and, on the loopback interface, a real reactor and an

asyncio loop's.
"""

# ruff: noqa: ARG002, N802
# The names are those of Twisted's interfaces.

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.internet.protocol import ClientFactory, Protocol, ServerFactory
from zope.interface import implementer

from sim_runtime.asyncio_reactor import AsyncioReactor
from sim_runtime.deadlines import sleep
from sim_runtime.reactor_thread import ReactorThread
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from twisted.internet.interfaces import IListeningPort
    from twisted.python.failure import Failure

    from sim_runtime.interfaces import IReactor

DEADLINE_MS = 20_000


class Peer(Protocol):
    """Records its events, and waits until a condition holds."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.received = b""
        self.reason: type[Exception] | None = None
        self._waiting: list[tuple[Callable[[], bool], Deferred[None]]] = []
        self.on_data: Callable[[bytes], None] | None = None

    def connectionMade(self) -> None:
        self._note("made")

    def dataReceived(self, data: bytes) -> None:
        self.received += data
        if self.on_data is not None:
            self.on_data(data)
        self._note("data")

    def connectionLost(self, reason: Failure) -> None:
        self.reason = reason.type
        self._note("lost")

    def until(self, condition: Callable[[], bool]) -> Deferred[None]:
        done: Deferred[None] = Deferred()
        self._waiting.append((condition, done))
        self._check()
        return done

    def until_received(self, size: int) -> Deferred[None]:
        return self.until(lambda: len(self.received) >= size)

    def until_lost(self) -> Deferred[None]:
        return self.until(lambda: self.reason is not None)

    def _note(self, event: str) -> None:
        if not self.events or self.events[-1] != event:
            self.events.append(event)
        self._check()

    def _check(self) -> None:
        ready = [entry for entry in self._waiting if entry[0]()]
        self._waiting = [entry for entry in self._waiting if entry not in ready]
        for _, done in ready:
            done.callback(None)


@implementer(IHalfCloseableProtocol)
class HalfClosingPeer(Peer):
    def readConnectionLost(self) -> None:
        self._note("read lost")

    def writeConnectionLost(self) -> None:
        self._note("write lost")


class Server(ServerFactory):
    """Accepts one peer after the other, or none when it has no protocol."""

    def __init__(self, protocol: type[Peer] | None = Peer) -> None:
        self.protocol_class = protocol
        self.events: list[str] = []
        self.peers: list[Peer] = []

    def startFactory(self) -> None:
        self.events.append("start")

    def stopFactory(self) -> None:
        self.events.append("stop")

    def buildProtocol(self, addr: Any) -> Peer | None:
        if self.protocol_class is None:
            return None
        peer = self.protocol_class()
        self.peers.append(peer)
        return peer


class Client(ClientFactory):
    """One peer per connection; `done` fires when it is connected or has failed."""

    def __init__(self, protocol: type[Peer] | None = Peer) -> None:
        self.protocol_class = protocol
        self.events: list[str] = []
        self.peers: list[Peer] = []
        self.error: BaseException | None = None
        self.reconnects = 0
        self.done: Deferred[None] = Deferred()

    def startFactory(self) -> None:
        self.events.append("start")

    def stopFactory(self) -> None:
        self.events.append("stop")

    def startedConnecting(self, connector: Any) -> None:
        self.events.append("connecting")

    def buildProtocol(self, addr: Any) -> Peer | None:
        if self.protocol_class is None:
            return None
        self.events.append("build")
        peer = self.protocol_class()
        self.peers.append(peer)
        peer.until(lambda: "made" in peer.events).addCallback(lambda _: self._finish())
        return peer

    def clientConnectionFailed(self, connector: Any, reason: Failure) -> None:
        self.events.append("failed")
        self.error = reason.value
        self._finish()

    def clientConnectionLost(self, connector: Any, reason: Failure) -> None:
        self.events.append("lost")
        if self.reconnects:
            self.reconnects -= 1
            connector.connect()

    def _finish(self) -> None:
        done, self.done = self.done, Deferred()
        done.callback(None)


class Bench:
    """Two reactors that reach each other: `server`, found under `address`, and `client`. They may be one."""

    server: IReactor
    client: IReactor
    address: str

    def run(self, body: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        raise NotImplementedError

    def listen(self, factory: ServerFactory) -> tuple[IListeningPort, int]:
        port = self.server.listenTCP(0, factory, interface="")
        return port, port.getHost().port

    def server_factory(self, *, builds: bool = True) -> Server:
        return Server(Peer if builds else None)

    def client_factory(self, *, builds: bool = True) -> Client:
        return Client(Peer if builds else None)

    async def connected(self, *, half_closing: bool = False) -> tuple[Peer, Peer]:
        """A client's peer and the server's peer of one connection."""
        protocol = HalfClosingPeer if half_closing else Peer
        server, client = Server(protocol), Client(protocol)
        _, port = self.listen(server)
        self.client.connectTCP(self.address, port, client)
        await client.done
        while not server.peers or "made" not in server.peers[0].events:
            await sleep(self.client, 1)
        return client.peers[0], server.peers[0]


class VirtualBench(Bench):
    def __init__(self) -> None:
        self.world = World(seed=11)
        self.world.network.jitter_ms = 0.05
        self.server = self.world.network.host("server")
        self.client = self.world.network.host("client")
        self.address = "server"

    def run(self, body: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        return self.world.run_until(body(), deadline_ms=DEADLINE_MS)


class RealBench(Bench):
    def __init__(self, thread: ReactorThread) -> None:
        self._thread = thread
        self.server = self.client = thread.reactor
        self.address = "127.0.0.1"

    def run(self, body: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        return self._thread.call(body, timeout_s=DEADLINE_MS / 1000)


class AsyncioBench(Bench):
    def __init__(self, runner: asyncio.Runner) -> None:
        self._runner = runner
        self.server = self.client = cast("IReactor", AsyncioReactor(runner.get_loop()))
        self.address = "127.0.0.1"

    def run(self, body: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        return self._runner.run(self._run(body))

    async def _run(self, body: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        loop = asyncio.get_running_loop()
        return await asyncio.wait_for(Deferred.fromCoroutine(body()).asFuture(loop), DEADLINE_MS / 1000)


@pytest.fixture(params=["virtual", "real", "asyncio"])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    if request.param == "virtual":
        yield VirtualBench()
    elif request.param == "asyncio":
        with asyncio.Runner() as runner:
            asyncio_bench = AsyncioBench(runner)
            yield asyncio_bench
            cast("AsyncioReactor", asyncio_bench.client).end()
    else:
        with ReactorThread("conformance") as thread:
            yield RealBench(thread)
