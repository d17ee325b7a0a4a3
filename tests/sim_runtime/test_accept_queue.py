"""Listeners that do not accept: one kit for simulated and for real ones."""

# ruff: noqa: N802
# The names are those of Twisted's interfaces.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.protocol import ClientFactory, Protocol, ServerFactory

from sim_runtime.accept_queue import hold_accepts
from sim_runtime.real_reactor import new_reactor, release_reactor
from sim_runtime.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from twisted.python.failure import Failure

DEADLINE_S = 10
BACKLOG = 50


class Client(ClientFactory):
    noisy = False

    def __init__(self) -> None:
        self.peer: Protocol | None = None
        self.received = b""
        self.failure: Failure | None = None

    def buildProtocol(self, addr: Any) -> Protocol:  # noqa: ARG002
        factory = self

        class Peer(Protocol):
            def dataReceived(self, data: bytes) -> None:
                factory.received += data

        self.peer = Peer()
        return self.peer

    def clientConnectionFailed(self, connector: Any, reason: Failure) -> None:  # noqa: ARG002
        self.failure = reason


class Greeter(Protocol):
    """Returns what it receives."""

    def dataReceived(self, data: bytes) -> None:
        self.transport.write(data)


class Listener:
    """A listener of one kind of network, and clients of it."""

    def __init__(self, reactor: Any, client: Any, server: Any, host: str) -> None:
        self.reactor = reactor
        self.accepted: list[int] = []
        factory = ServerFactory()
        factory.noisy = False
        factory.buildProtocol = self._build  # type: ignore[method-assign]
        self.port = server.listenTCP(0, factory, BACKLOG, "127.0.0.1" if host == "127.0.0.1" else "")
        self.queue: Any = None
        self._client = client
        self._host = host

    def hold(self, size: int) -> None:
        self.queue = hold_accepts(self.port, size, backlog=BACKLOG)

    def connect(self, timeout_s: float = 30) -> Client:
        client = Client()
        self._client.connectTCP(self._host, self.port.getHost().port, client, timeout_s)
        return client

    def until(self, condition: Callable[[], Any]) -> None:
        raise NotImplementedError

    def _build(self, address: Any) -> Protocol | None:
        if self.queue is not None and address.port == self.queue.filler_port:
            return None
        self.accepted.append(address.port)
        return Greeter()


class SimulatedListener(Listener):
    def __init__(self) -> None:
        self.world = World(3)
        network = self.world.network
        super().__init__(self.world.reactor, network.host("client"), network.host("server"), "server")

    def until(self, condition: Callable[[], Any]) -> None:
        self.world.run_until(condition)

    def close(self) -> None:
        pass


class RealListener(Listener):
    def __init__(self) -> None:
        self.real = new_reactor()
        super().__init__(self.real, self.real, self.real, "127.0.0.1")

    def until(self, condition: Callable[[], Any]) -> None:
        end_s = self.real.seconds() + DEADLINE_S
        while not condition():
            assert self.real.seconds() < end_s
            due = self.real.timeout()
            self.real.iterate(0.05 if due is None else min(0.05, due))

    def close(self) -> None:
        self.port.stopListening()
        self.real.iterate(0)
        self.real.disconnectAll()
        release_reactor(self.real)


@pytest.fixture(params=[SimulatedListener, RealListener], ids=["simulated", "real"])
def listener(request: pytest.FixtureRequest) -> Iterator[Any]:
    made = request.param()
    yield made
    made.close()


def test_queued_connections_are_open_and_wait(listener: Listener) -> None:
    listener.hold(2)
    clients = [listener.connect(), listener.connect()]
    listener.until(lambda: all(client.peer and client.peer.connected for client in clients))
    for client in clients:
        assert client.peer is not None
        client.peer.transport.write(b"hello")  # type: ignore[union-attr]
    assert listener.accepted == []
    listener.reactor.callLater(0.02, listener.queue.accept_one)
    listener.until(lambda: clients[0].received == b"hello")
    assert len(listener.accepted) == 1
    listener.queue.release()
    listener.until(lambda: clients[1].received == b"hello")
    later = listener.connect()
    listener.until(lambda: len(listener.accepted) == 3 and later.peer)


@pytest.mark.parametrize("size", [0, 1])
def test_a_full_queue_gives_no_reply_to_a_syn(listener: Listener, size: int) -> None:
    listener.hold(size)
    inside = [listener.connect() for _ in range(size)]
    listener.until(lambda: all(client.peer and client.peer.connected for client in inside))
    outside = listener.connect(timeout_s=0.3)
    listener.until(lambda: outside.failure)
    assert "Timeout" in type(outside.failure.value).__name__  # type: ignore[union-attr]
    waiting = listener.connect()
    begin_s = listener.reactor.seconds()
    listener.reactor.callLater(0.02, listener.queue.release)
    listener.until(lambda: waiting.peer and waiting.peer.connected and len(listener.accepted) > size)
    assert 0.9 < listener.reactor.seconds() - begin_s < 2
    assert len(listener.accepted) == size + 1
