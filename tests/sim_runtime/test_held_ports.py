"""A port stays reserved while its listener is stopped."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.error import CannotListenError
from twisted.internet.protocol import Factory, Protocol

from sim_runtime.reactor_thread import ReactorThread

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = "127.0.0.1"
SECONDS_MAX = 10


class Goodbye(Protocol):
    """Ends its connection at once."""

    def connectionMade(self) -> None:  # noqa: N802 - Twisted's name
        self.transport.loseConnection()


@pytest.fixture
def thread() -> Iterator[ReactorThread]:
    with ReactorThread("listens") as running:
        yield running


def listen(thread: ReactorThread, port: int = 0) -> Any:
    return thread.call(lambda: thread.reactor.listenTCP(port, Factory.forProtocol(Goodbye), 50, HOST))


def is_listened_on(port: int) -> bool:
    try:
        with socket.create_connection((HOST, port), SECONDS_MAX) as connection:
            return connection.recv(1) == b""
    except ConnectionRefusedError:
        return False


def test_a_port_without_its_listener_refuses_connections_and_stays_reserved(thread: ReactorThread) -> None:
    listening = listen(thread)
    port = listening.getHost().port
    assert is_listened_on(port)
    thread.call(listening.stopListening)
    assert not is_listened_on(port)
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind((HOST, port))


def test_its_listener_comes_back_to_it(thread: ReactorThread) -> None:
    listening = listen(thread)
    port = listening.getHost().port
    for _ in range(3):
        thread.call(listening.stopListening)
        listening = listen(thread, port)
        assert is_listened_on(port)


def test_a_port_in_use_is_an_error_that_names_it(thread: ReactorThread) -> None:
    with socket.create_server((HOST, 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(CannotListenError, match=str(port)):
            listen(thread, port)
    assert listen(thread, port).getHost().port == port


def test_a_reactor_that_has_ended_keeps_no_port() -> None:
    with ReactorThread("listens") as thread:
        port = listen(thread).getHost().port
    with socket.create_server((HOST, port)):
        pass
