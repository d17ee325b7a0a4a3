from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.protocol import ClientFactory, Protocol, ServerFactory
from twisted.python import log

from sim_runtime.real_reactor import new_reactor, release_reactor

if TYPE_CHECKING:
    from twisted.python.failure import Failure

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="epoll is Linux's")

SECONDS_MAX = 10


class Echo(Protocol):
    """Gives back what comes, and raises at "raise"."""

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        if data == b"raise":
            raise RuntimeError("as asked")
        self.transport.write(data)


class Speaker(Protocol):
    """Says one thing, and notes what it hears and how it ends."""

    def __init__(self, says: bytes, notes: list[Any]) -> None:
        self.says = says
        self.notes = notes

    def connectionMade(self) -> None:  # noqa: N802
        self.transport.write(self.says)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        self.notes.append(data)
        self.transport.loseConnection()

    def connectionLost(self, reason: Failure) -> None:  # noqa: N802, ARG002
        self.notes.append(self.says + b" ended")


def test_what_a_connection_raises_is_logged_and_ends_it_alone() -> None:
    reactor = new_reactor()
    notes: list[Any] = []
    logged: list[Any] = []
    server = ServerFactory.forProtocol(Echo)
    port = reactor.listenTCP(0, server, interface="127.0.0.1")

    def speak(says: bytes) -> None:
        factory = ClientFactory()
        factory.noisy = False
        factory.buildProtocol = lambda _: Speaker(says, notes)  # type: ignore[method-assign]
        reactor.connectTCP("127.0.0.1", port.getHost().port, factory)

    def stop_when_all_ended() -> None:
        if sum(isinstance(note, bytes) and note.endswith(b"ended") for note in notes) == 3:
            reactor.stop()
        else:
            reactor.callLater(0.001, stop_when_all_ended)

    for says in (b"one", b"raise", b"two"):
        reactor.callLater(0, speak, says)
    reactor.callLater(0, stop_when_all_ended)
    limit = reactor.callLater(SECONDS_MAX, reactor.stop)
    log.addObserver(logged.append)
    try:
        reactor.run(installSignalHandlers=False)
    finally:
        log.removeObserver(logged.append)
        in_time = limit.active()
        if in_time:
            limit.cancel()
        release_reactor(reactor)
    assert in_time
    assert sorted(notes) == [b"one", b"one ended", b"raise ended", b"two", b"two ended"]
    assert [str(event["failure"].value) for event in logged if event["isError"]] == ["as asked"]
