from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol, ServerFactory
from twisted.internet.testing import StringTransport

from broker_sim.network.response_writer import BufferedWriter, DirectWriter, ResponseWriter, writer_for
from protocol_specs.framing import LargeFrame
from sim_runtime.reactor_thread import ReactorThread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twisted.internet.interfaces import IAddress, IListeningPort

LARGE = bytes(range(256)) * 64 * 1024
"""16 MiB: more than any socket buffer."""


IN_PARTS = LargeFrame([LARGE[:100], LARGE[100:9000], LARGE[9000:]], len(LARGE))


class Sender(Protocol):
    """Sends LARGE, also in parts, as soon as it is connected, and records when it was drained."""

    writer: ResponseWriter

    def __init__(self) -> None:
        self.drained = 0
        self.sent: Deferred[None] = Deferred()
        self.responses: list[bool] = []

    def connectionMade(self) -> None:  # noqa: N802
        self.writer = writer_for(self.transport, self.count)
        frames: list[bytes | LargeFrame] = [b"small", IN_PARTS, LARGE, IN_PARTS]
        self.responses = [self.writer.write(frame) for frame in frames]
        self.sent.callback(None)

    def count(self) -> None:
        self.drained += 1


class Listening(ServerFactory):
    noisy = False

    def __init__(self) -> None:
        self.sender = Sender()

    def buildProtocol(self, addr: IAddress) -> Sender:  # noqa: ARG002, N802
        return self.sender


@pytest.fixture
def thread() -> Iterator[ReactorThread]:
    with ReactorThread("response writer") as thread:
        yield thread


def test_what_the_socket_does_not_take_follows_in_order_and_drains_once(thread: ReactorThread) -> None:
    factory = Listening()
    port: IListeningPort = thread.call(lambda: thread.reactor.listenTCP(0, factory, 5, "127.0.0.1"))
    with socket.create_connection(("127.0.0.1", port.getHost().port), timeout=10) as client:
        thread.call(lambda: factory.sender.sent)
        received = bytearray()
        while len(received) < 5 + 3 * len(LARGE):
            received += client.recv(1 << 20)
        assert received == b"small" + 3 * LARGE
        responses, drained = thread.call(lambda: (factory.sender.responses, factory.sender.drained))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    thread.call(port.stopListening)
    assert isinstance(factory.sender.writer, DirectWriter)
    assert responses == [True, False, False, False]
    assert drained == 1


def test_a_buffered_writer_waits_when_its_transport_pauses_it() -> None:
    drained: list[None] = []
    transport = StringTransport()
    writer = BufferedWriter(transport, lambda: drained.append(None))
    assert writer.write(b"one")
    writer.pauseProducing()
    assert not writer.write(b"two")
    writer.resumeProducing()
    assert drained == [None]
    assert writer.write(LargeFrame([b"th", b"ree"], 5))
    assert transport.value() == b"onetwothree"


def test_a_simulated_transport_is_written_through_its_own_buffer() -> None:
    assert isinstance(writer_for(StringTransport(), lambda: None), BufferedWriter)
