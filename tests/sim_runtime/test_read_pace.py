from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING

import pytest
from twisted.internet import tcp
from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol, ServerFactory, connectionDone
from twisted.internet.testing import MemoryReactor, StringTransport

from protocol_specs.framing import FrameReader
from sim_runtime.reactor_thread import ReactorThread
from sim_runtime.read_pace import AWAITED_BYTES_MAX, BULK_READ_SIZE_BYTES, READ_SIZE_BYTES, ReadPace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twisted.internet.interfaces import IAddress, IListeningPort
    from twisted.python.failure import Failure

LIMIT_BYTES = 1 << 24
SMALL = bytes(100)
LARGE = bytes(range(256)) * 2048
"""512 KiB."""
HUGE = LARGE * 5
"""More than is waited for at once."""


def framed(*frames: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(frame)) + frame for frame in frames)


class Receiver(Protocol):
    """Reads frames at a pace, and counts their bytes."""

    def __init__(self, frames: int) -> None:
        self.wanted = frames
        self.frames: list[bytes] = []
        self.bytes = 0
        self.done: Deferred[None] = Deferred()
        self.lost: Deferred[None] = Deferred()
        self.reader = FrameReader(limit_bytes=LIMIT_BYTES, option="test")

    def connectionMade(self) -> None:  # noqa: N802
        self.pace = ReadPace(self.transport)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        self.bytes += len(data)
        self.frames += self.reader.receive(data)
        self.pace.adjust(len(data), self.reader.missing_bytes)
        if len(self.frames) == self.wanted:
            self.done.callback(None)

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: ARG002, N802
        self.lost.callback(None)


class Listening(ServerFactory):
    noisy = False

    def __init__(self, frames: int) -> None:
        self.receiver = Receiver(frames)

    def buildProtocol(self, addr: IAddress) -> Receiver:  # noqa: ARG002, N802
        return self.receiver


@pytest.fixture
def thread() -> Iterator[ReactorThread]:
    with ReactorThread("read pace") as thread:
        yield thread


def received(thread: ReactorThread, *frames: bytes) -> Receiver:
    factory = Listening(len(frames))
    port: IListeningPort = thread.call(lambda: thread.reactor.listenTCP(0, factory, interface="127.0.0.1"))
    with socket.create_connection(("127.0.0.1", port.getHost().port), timeout=20) as client:  # type: ignore[attr-defined]
        client.sendall(framed(*frames))
        thread.call(lambda: factory.receiver.done)
    thread.call(port.stopListening)
    return factory.receiver


class Pace:
    """A pace for an unconnected socket."""

    def __init__(self) -> None:
        self.socket = socket.socket()
        self.transport = tcp.Connection(self.socket, Protocol(), MemoryReactor())
        self.pace = ReadPace(self.transport)  # type: ignore[arg-type]  # it is never paused

    def after(self, received: int, *, missing: int) -> tuple[int, int]:
        """Return the limit of the next read, and the bytes that it brings."""
        self.pace.adjust(received, missing)
        return self.transport.bufferSize, self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT)


@pytest.fixture
def pace() -> Iterator[Pace]:
    made = Pace()
    yield made
    made.socket.close()


def test_the_rest_of_a_large_request_is_awaited_and_then_a_size_is_read_alone(pace: Pace) -> None:
    assert pace.after(READ_SIZE_BYTES, missing=500_000) == (500_000, 500_000)
    assert pace.after(500_000, missing=0) == (4, 1)
    assert pace.after(4, missing=600_000) == (600_000, 600_000)
    assert pace.after(200_000, missing=400_000) == (400_000, 400_000)
    assert pace.after(400_000, missing=0) == (4, 1)


def test_small_requests_after_large_ones_are_read_together(pace: Pace) -> None:
    pace.after(READ_SIZE_BYTES, missing=500_000)
    pace.after(500_000, missing=0)
    assert pace.after(4, missing=100) == (READ_SIZE_BYTES, 1)
    assert pace.after(READ_SIZE_BYTES, missing=100) == (BULK_READ_SIZE_BYTES, 1)


def test_a_part_of_a_size_is_no_request(pace: Pace) -> None:
    pace.after(READ_SIZE_BYTES, missing=500_000)
    pace.after(500_000, missing=0)
    assert pace.after(3, missing=0) == (READ_SIZE_BYTES, 1)


def test_a_response_with_a_mebibyte_of_records_is_awaited_whole(pace: Pace) -> None:
    size = 1024 * 1024 + 200
    assert pace.after(4, missing=size) == (size, size)
    assert pace.after(size, missing=0) == (4, 1)


def test_what_is_awaited_has_a_limit(pace: Pace) -> None:
    assert pace.after(4, missing=AWAITED_BYTES_MAX + 9) == (AWAITED_BYTES_MAX, AWAITED_BYTES_MAX)
    assert pace.after(AWAITED_BYTES_MAX, missing=9) == (9, 1)


@pytest.mark.parametrize("frames", [[LARGE, *[SMALL] * 300, LARGE], [SMALL, HUGE + SMALL, SMALL, LARGE, SMALL]])
def test_requests_of_all_sizes_come_whole_and_in_order(thread: ReactorThread, frames: list[bytes]) -> None:
    assert received(thread, *frames).frames == frames


def test_the_peers_end_is_seen_while_the_rest_of_a_request_is_awaited(thread: ReactorThread) -> None:
    factory = Listening(1)
    port: IListeningPort = thread.call(lambda: thread.reactor.listenTCP(0, factory, interface="127.0.0.1"))
    with socket.create_connection(("127.0.0.1", port.getHost().port), timeout=20) as client:  # type: ignore[attr-defined]
        client.sendall(framed(HUGE)[:-1])
    thread.call(lambda: factory.receiver.lost)
    thread.call(port.stopListening)
    assert factory.receiver.bytes == len(HUGE) + 3


def test_without_a_socket_all_is_read_as_it_comes() -> None:
    transport = StringTransport()
    pace = ReadPace(transport)  # type: ignore[arg-type]
    sizes = []
    for read, missing in [(100, 0), (READ_SIZE_BYTES, LIMIT_BYTES), (BULK_READ_SIZE_BYTES, LIMIT_BYTES), (9, 0)]:
        pace.adjust(read, missing)
        sizes.append(transport.bufferSize)  # type: ignore[attr-defined]
    assert sizes == [READ_SIZE_BYTES, BULK_READ_SIZE_BYTES, BULK_READ_SIZE_BYTES, READ_SIZE_BYTES]
