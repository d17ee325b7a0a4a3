"""Sockets and selectors of virtual threads: what a program of threads imports as `socket` and `selectors`.

A socket is one of TCP, and connects to a host of the simulated network through the reactor of its program. Options of
the kernel are remembered and have no effect. Servers, UDP and Unix sockets are refused, except for `socketpair`.
"""

# ruff: noqa: N802
# The names of some methods are those of Twisted's interfaces.

from __future__ import annotations

import errno
import math
import selectors
import socket
from itertools import count
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self, cast

from twisted.internet.error import ConnectError, ConnectionAborted, ConnectionClosed, ConnectionDone
from twisted.internet.protocol import ClientFactory

from sim_runtime.virtual_asyncio_transport import NO_TIMEOUT_S, ConnectionEvents, give_up, system_error
from sim_runtime.virtual_event_loop import NotOnVirtualTime
from sim_runtime.virtual_names import ANY_ADDRESS, LOOPBACK, address_of, look_up

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from selectors import SelectorKey

    from twisted.internet.interfaces import IAddress, IConnector
    from twisted.python.failure import Failure

    from sim_runtime.virtual_names import AddressInfo
    from sim_runtime.virtual_network import VirtualNetwork
    from sim_runtime.virtual_threads import VirtualThreads
    from sim_runtime.virtual_transport import VirtualTransport

__all__ = ["selectors_module", "socket_module"]

BUFFER_BYTES: Final = 64 * 1024
"""What a socket keeps in each direction; the peer waits when the program does not read."""
POLL_S: Final = 100e-6
"""What it takes to poll for events without waiting for them."""
POLL_MAX_S: Final = 10e-3
"""A wait of a selector that is no longer is a poll."""
POLL_SHARE: Final = 1e-2
"""A poll waits for an event at least this share of the time of the fruitless polls before it."""
_FIRST_DESCRIPTOR: Final = 1000


class _Stream:
    """One end of a stream of bytes, with what it has received and what the program has set."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.received = bytearray()
        self.is_finished = False
        self.error: int = 0
        self.is_closed = False
        self.watching: dict[Callable[[], object], None] = {}
        """Called when it may have become readable or writable."""
        self._options: dict[tuple[int, int], Any] = {}
        self._timeout: float | None = None

    def fileno(self) -> int:
        """A number of its own; -1 when closed."""
        return -1 if self.is_closed else self.number

    @property
    def is_readable(self) -> bool:
        """True if `recv` returns at once."""
        return bool(self.received or self.is_finished or self.error or self.is_closed)

    @property
    def is_writable(self) -> bool:
        """True if `send` returns at once."""
        return True

    def changed(self) -> None:
        """Call those that watch the socket."""
        for look in list(self.watching):
            look()

    def take(self, size: int) -> bytes:
        """Remove and return what was received, at most `size` bytes; empty at the end. Raises OSError."""
        if self.is_closed:
            raise OSError(errno.EBADF, "Bad file descriptor")
        if not self.received:
            self.raise_error()
            if not self.is_finished:
                raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        data = bytes(self.received[:size])
        del self.received[:size]
        return data

    def raise_error(self) -> None:
        """Raise the error of the connection, once."""
        error, self.error = self.error, 0
        if error:
            self.is_finished = True
            raise OSError(error, errno.errorcode[error])

    def setblocking(self, flag: bool) -> None:  # noqa: FBT001 - as in socket
        """Wait in calls, or not."""
        self._timeout = None if flag else 0.0

    def settimeout(self, value: float | None) -> None:
        """Wait so long in calls, in seconds."""
        self._timeout = value

    def gettimeout(self) -> float | None:
        """How long calls wait."""
        return self._timeout

    def setsockopt(self, level: int, name: int, value: Any, *_: object) -> None:
        """Remember an option."""
        self._options[level, name] = value

    def getsockopt(self, level: int, name: int, *_: object) -> Any:
        """An option that was set; 0 for others."""
        return self._options.get((level, name), 0)


class _PairedSocket(_Stream):
    """One end of a socketpair."""

    peer: _PairedSocket

    def send(self, data: bytes | memoryview) -> int:
        """Pass bytes on to the peer. Raises BlockingIOError if its buffer is full, BrokenPipeError if it is closed."""
        if self.peer.is_closed:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        room = BUFFER_BYTES - len(self.peer.received)
        if room <= 0:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        self.peer.received += data[:room]
        self.peer.changed()
        return min(room, len(data))

    def recv(self, size: int, _: int = 0) -> bytes:
        """Return the bytes that have arrived."""
        return self.take(size)

    def close(self) -> None:
        """Close this end."""
        self.is_closed = True
        self.peer.is_finished = True
        self.peer.changed()


class _Attempt(ClientFactory[Any]):
    noisy = False

    def __init__(self, owner: _TcpSocket) -> None:
        self._owner = owner

    def buildProtocol(self, addr: IAddress | None) -> ConnectionEvents:  # noqa: ARG002 - Twisted's signature
        """The handshake is complete."""
        return self._owner.events

    def clientConnectionFailed(self, connector: IConnector, reason: Failure) -> None:  # noqa: ARG002 - Twisted's signature
        """The attempt failed."""
        self._owner.refused(reason)


class _TcpSocket(_Stream):
    """A socket of TCP."""

    family = socket.AF_INET
    type = socket.SOCK_STREAM
    proto = socket.IPPROTO_TCP

    def __init__(self, threads: VirtualThreads, network: VirtualNetwork, number: int) -> None:
        super().__init__(number)
        self.events = ConnectionEvents(self)
        self._threads = threads
        self._network = network
        self._connector: IConnector | None = None
        self._below: VirtualTransport | None = None
        self._address = ("", 0)
        self._is_write_closed = False

    # Events of the network

    def begin(self, below: VirtualTransport) -> None:
        """The handshake is complete."""
        if self.is_closed:
            below.abortConnection()
            return
        self._below = below
        below.bufferSize = BUFFER_BYTES
        below.registerProducer(self.events, True)
        self.changed()

    def refused(self, reason: Failure) -> None:
        """The attempt failed."""
        error = system_error(cast("ConnectError | ConnectionClosed", reason.value), self._address)
        self.error = error.errno or errno.ECONNABORTED
        self.changed()

    def receive(self, data: bytes) -> None:
        """Bytes have arrived."""
        self.received += data
        if self._below is not None and len(self.received) >= BUFFER_BYTES:
            self._below.pauseProducing()
        self.changed()

    def receive_end(self) -> None:
        """The peer sends no more."""
        self.is_finished = True
        self.changed()

    def lost(self, reason: Failure) -> None:
        """The connection is closed."""
        self._below = None
        self._is_write_closed = True
        if reason.check(ConnectionDone, ConnectionAborted) is None:
            self.error = errno.ECONNRESET
        self.is_finished = True
        self.changed()

    def pause_writing(self) -> None:
        """The buffer is full: `send` finds that out."""

    def resume_writing(self) -> None:
        """The buffer is empty."""
        self.changed()

    # Of a socket

    def connect_ex(self, address: tuple[str, int]) -> int:
        """Begin to connect, or report how far that is: 0 or the number of an error."""
        if self._timeout != 0.0 and self._connector is None:
            begun = self._begin(address)
            self._wait_until(lambda: self._below is not None or bool(self.error))
            return self._end_of_attempt() or (0 if begun == errno.EINPROGRESS else begun)
        if self._connector is None:
            return self._begin(address)
        if self._below is not None:
            return errno.EISCONN
        return self._end_of_attempt() or errno.EALREADY

    def connect(self, address: tuple[str, int]) -> None:
        """Connect. Raises OSError."""
        error = self.connect_ex(address)
        if error:
            raise OSError(error, errno.errorcode[error])

    def _begin(self, address: tuple[str, int]) -> int:
        host = address_of(self._network, address[0])
        self._address = (LOOPBACK if host == ANY_ADDRESS else host, address[1])
        self._connector = self._threads.reactor().connectTCP(*self._address, _Attempt(self), NO_TIMEOUT_S)
        return errno.EINPROGRESS

    def _end_of_attempt(self) -> int:
        error, self.error = self.error, 0
        return error

    @property
    def is_writable(self) -> bool:
        """True if `send`, or a second `connect`, returns at once."""
        if self._below is None:
            return bool(self.error or self._is_write_closed)
        return self._room() > 0

    def _room(self) -> int:
        return BUFFER_BYTES - (0 if self._below is None else self._below.pending_bytes)

    def send(self, data: bytes | memoryview, _: int = 0) -> int:
        """Send as much as the buffer takes; returns how much. Raises OSError."""
        self._threads.count_call("send")
        self._wait_until(lambda: self.is_writable)
        self.raise_error()
        if self._is_write_closed:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        if self._below is None:
            raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")
        size = min(len(data), self._room())
        if size <= 0:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        self._below.write(bytes(data[:size]))
        return size

    def sendall(self, data: bytes | memoryview) -> None:
        """Send all of it. Raises OSError."""
        while data:
            data = data[self.send(data) :]

    def recv(self, size: int, _: int = 0) -> bytes:
        """Return the bytes that have arrived, none at the end. Raises OSError."""
        self._threads.count_call("recv")
        self._wait_until(lambda: self.is_readable)
        data = self.take(size)
        if self._below is not None and len(self.received) < BUFFER_BYTES:
            self._below.resumeProducing()
        return data

    def _wait_until(self, is_ready: Callable[[], bool]) -> None:
        """Wait, at most as long as the timeout of this socket; 0 is not at all."""
        if self._timeout == 0.0 or is_ready():
            return
        look = self._threads.waker()
        self.watching[look] = None
        try:
            while not is_ready():
                if not self._threads.wait(self._timeout):
                    raise TimeoutError("timed out")
        finally:
            self.watching.pop(look, None)

    def shutdown(self, how: int) -> None:
        """Send no more, read no more, or both. Raises OSError if it is not connected."""
        if self._below is None:
            raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")
        if how in {socket.SHUT_WR, socket.SHUT_RDWR} and not self._is_write_closed:
            self._is_write_closed = True
            self._below.unregisterProducer()
            self._below.loseWriteConnection()
        if how in {socket.SHUT_RD, socket.SHUT_RDWR}:
            self.is_finished = True

    def close(self) -> None:
        """Close the connection; what was sent before still arrives."""
        if self.is_closed:
            return
        self.is_closed = True
        if self._below is not None:
            self._below.unregisterProducer()
            self._below.loseConnection()
        elif self._connector is not None and not self.error and not self._is_write_closed:
            give_up(self._connector)
        self.changed()

    def getpeername(self) -> tuple[str, int]:
        """The address of the peer. Raises OSError if it is not connected."""
        if self._below is None:
            raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")
        return self._address

    def getsockname(self) -> tuple[str, int]:
        """The address of this end."""
        if self._below is None:
            return ANY_ADDRESS, 0
        here = self._below.getHost()
        return here.host, here.port

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Selector(selectors.SelectSelector):
    """A selector of virtual sockets. A poll takes a moment, also without a timeout.

    A timeout is rounded up to milliseconds as EpollSelector does: a program that waits for half of what is left, again
    and again, does not spin. The polls of a busy loop wait longer and longer for an event, so that a second of it is
    hundreds of polls and not ten thousand. Events are found as early as before; what the program does by the clock is
    late by a hundredth of the time of the loop, at most by POLL_MAX_S.
    """

    def __init__(self, threads: VirtualThreads) -> None:
        super().__init__()
        self._threads = threads
        self._polled_s = 0.0
        """How long it has polled and found nothing since a longer wait."""

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        """The sockets that are ready, in the order in which they were registered; waits at most `timeout` seconds."""
        wait_s = math.inf if timeout is None else math.ceil(max(timeout, 0.0) * 1e3) / 1e3
        is_poll = wait_s <= POLL_MAX_S
        if not is_poll:
            self._polled_s = 0.0
        stretched_s = min(self._polled_s * POLL_SHARE, POLL_MAX_S)
        if self._ready() or (wait_s == 0.0 and stretched_s <= POLL_S):
            wait_s = POLL_S
            self._threads.sleep(wait_s)
        else:
            wait_s = max(wait_s, stretched_s)
            self._wait(None if timeout is None else wait_s)
        found = self._ready()
        if is_poll and not found:
            self._polled_s += wait_s
        return found

    def _wait(self, timeout_s: float | None) -> None:
        look = self._threads.waker()
        watched = [cast("_Stream", key.fileobj) for key in self.get_map().values()]
        for stream in watched:
            stream.watching[look] = None
        try:
            self._threads.wait(timeout_s)
        finally:
            for stream in watched:
                stream.watching.pop(look, None)

    def _ready(self) -> list[tuple[SelectorKey, int]]:
        found: list[tuple[SelectorKey, int]] = []
        for key in self.get_map().values():
            stream = cast("_Stream", key.fileobj)
            events = selectors.EVENT_READ * stream.is_readable | selectors.EVENT_WRITE * stream.is_writable
            if events & key.events:
                found.append((key, events & key.events))
        return found


def selectors_module(threads: VirtualThreads) -> ModuleType:
    """The module `selectors` of a program: its selectors watch virtual sockets."""

    def make() -> _Selector:
        return _Selector(threads)

    kinds = ("DefaultSelector", "EpollSelector", "PollSelector", "SelectSelector")
    return _like(selectors, dict.fromkeys(kinds, make))


def socket_module(threads: VirtualThreads, network: VirtualNetwork) -> ModuleType:
    """The module `socket` of a program: its sockets connect within the network."""
    numbers = count(_FIRST_DESCRIPTOR)

    def make(family: int = socket.AF_INET, kind: int = socket.SOCK_STREAM, proto: int = 0, *_: object) -> _TcpSocket:
        del proto
        if family not in {socket.AF_INET, socket.AF_UNSPEC, -1} or kind not in {socket.SOCK_STREAM, -1}:
            _refuse(f"a socket of family {family} and type {kind}")
        return _TcpSocket(threads, network, next(numbers))

    def make_pair(*_: object) -> tuple[_PairedSocket, _PairedSocket]:
        ends = _PairedSocket(next(numbers)), _PairedSocket(next(numbers))
        ends[0].peer, ends[1].peer = ends[1], ends[0]
        return ends

    def get_addresses(
        host: bytes | str | None, port: bytes | str | int | None, family: int = 0, *_: object
    ) -> list[AddressInfo]:
        return look_up(network, host, port, family)

    def connect(address: tuple[str, int], timeout: float | None = None, *_: object) -> _TcpSocket:
        made = make()
        made.settimeout(timeout)
        made.connect(address)
        return made

    names = {
        "socket": make,
        "socketpair": make_pair,
        "getaddrinfo": get_addresses,
        "create_connection": connect,
        "create_server": lambda *_, **__: _refuse("a server of a program of threads"),
        "gethostbyname": lambda name: address_of(network, name),
    }
    return _like(socket, names)


def _like(module: ModuleType, names: Mapping[str, object]) -> ModuleType:
    made = ModuleType(module.__name__, f"`{module.__name__}` of a program on virtual time.")
    vars(made).update(vars(module))
    vars(made).update(names)
    return made


def _refuse(what: str) -> NoReturn:
    raise NotOnVirtualTime(f"{what} cannot be simulated: a program on virtual time connects by TCP")
