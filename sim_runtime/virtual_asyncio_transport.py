"""Connections and servers of a VirtualEventLoop: asyncio's transports on those of the simulated network.

A Twisted protocol receives the events of the network. Each reaches the asyncio protocol in a callback of the loop, as
the selector's events do on a real loop; bytes that arrived together are delivered together.
"""

# ruff: noqa: N802
# The names of some methods are those of Twisted's interfaces.

from __future__ import annotations

import asyncio
import errno
import socket
from typing import TYPE_CHECKING, Any, Final, cast
from typing import Protocol as TypingProtocol

from twisted.internet.error import (
    CannotListenError,
    ConnectError,
    ConnectionAborted,
    ConnectionClosed,
    ConnectionDone,
    NotConnectingError,
    TCPTimedOutError,
)
from twisted.internet.error import ConnectionRefusedError as TwistedConnectionRefusedError
from twisted.internet.error import TimeoutError as TwistedTimeoutError
from twisted.internet.interfaces import IHalfCloseableProtocol, IPushProducer
from twisted.internet.protocol import ClientFactory, Protocol, ServerFactory
from zope.interface import implementer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from twisted.internet.interfaces import IAddress, IConnector, IListeningPort
    from twisted.python.failure import Failure

    from sim_runtime.virtual_event_loop import VirtualEventLoop
    from sim_runtime.virtual_transport import VirtualTransport

__all__ = ["NO_TIMEOUT_S", "ConnectionEvents", "VirtualServer", "connect", "give_up", "listen", "system_error"]

NO_TIMEOUT_S: Final = 1e6
"""The kernel gives up a connection attempt before."""
HIGH_WATER_BYTES: Final = 64 * 1024


class EventOwner(TypingProtocol):
    """Receives the events of a connection."""

    def begin(self, below: VirtualTransport) -> None:
        """The connection is open."""

    def receive(self, data: bytes) -> None:
        """Bytes have arrived."""

    def receive_end(self) -> None:
        """The peer sends no more."""

    def lost(self, reason: Failure) -> None:
        """The connection is closed."""

    def pause_writing(self) -> None:
        """The buffer is full."""

    def resume_writing(self) -> None:
        """The buffer is empty again."""


@implementer(IHalfCloseableProtocol, IPushProducer)
class ConnectionEvents(Protocol):
    """The Twisted protocol of a connection: it passes the events on to their owner."""

    def __init__(self, connection: EventOwner) -> None:
        self._connection = connection

    def connectionMade(self) -> None:
        """The handshake is complete."""
        self._connection.begin(cast("VirtualTransport", self.transport))

    def dataReceived(self, data: bytes) -> None:
        """Bytes have arrived."""
        self._connection.receive(data)

    def readConnectionLost(self) -> None:
        """The peer sends no more."""
        self._connection.receive_end()

    def writeConnectionLost(self) -> None:
        """This end sends no more: the program knows."""

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        """The connection is closed."""
        self._connection.lost(reason)

    def pauseProducing(self) -> None:
        """The buffer is full."""
        self._connection.pause_writing()

    def resumeProducing(self) -> None:
        """The buffer is empty."""
        self._connection.resume_writing()

    def stopProducing(self) -> None:
        """The connection is closed, which is reported by itself."""


class _Connection(asyncio.Transport):
    """The transport that an asyncio protocol sees."""

    def __init__(self, loop: VirtualEventLoop, protocol: asyncio.BaseProtocol) -> None:
        super().__init__()
        self.events = ConnectionEvents(self)
        self._loop = loop
        self._protocol = protocol
        self._below: VirtualTransport
        self._received: list[bytes] = []
        self._peer_finished = False
        self._reading = True
        self._read_scheduled = False
        self._writing_paused = False
        self._write_closed = False
        self._closing = False
        self._lost = False

    # Events of the network

    def begin(self, below: VirtualTransport) -> None:
        """The connection is open."""
        self._below = below
        self._extra = {"peername": _pair(below.getPeer()), "sockname": _pair(below.getHost())}
        if self._loop.is_closed():
            below.abortConnection()
            return
        below.bufferSize = HIGH_WATER_BYTES
        below.registerProducer(self.events, True)
        self._loop.opened(self)
        self._loop.call_soon(self._protocol.connection_made, self)

    def receive(self, data: bytes) -> None:
        """Bytes have arrived: deliver them in the next iteration, unless the program has paused."""
        self._received.append(data)
        self._schedule_read()

    def receive_end(self) -> None:
        """The peer sends no more."""
        self._peer_finished = True
        self._schedule_read()

    def lost(self, reason: Failure) -> None:
        """The connection is closed."""
        self._loop.closed(self)
        if self._loop.is_closed() or self._lost:
            return
        done = reason.check(ConnectionDone) is not None
        if done and not self._closing and not self._peer_finished:
            self.receive_end()  # a process reactor reports the end of a half-closed connection as a close
        self._lost = True
        orderly = done or reason.check(ConnectionAborted) is not None
        error = None if orderly else ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
        self._loop.call_soon(self._end, error)

    def pause_writing(self) -> None:
        """The buffer is full."""
        if not self._writing_paused:
            self._writing_paused = True
            self._protocol.pause_writing()

    def resume_writing(self) -> None:
        """The buffer is empty again."""
        if self._writing_paused and not self._loop.is_closed():
            self._loop.call_soon(self._resume_writing)

    def _resume_writing(self) -> None:
        if self._writing_paused and not self._below.producerPaused:
            self._writing_paused = False
            self._protocol.resume_writing()

    def _schedule_read(self) -> None:
        if self._reading and not self._read_scheduled and not self._loop.is_closed():
            self._read_scheduled = True
            self._loop.call_soon(self._read)

    def _read(self) -> None:
        self._read_scheduled = False
        if not self._reading or self._closing:
            return
        if self._received:
            data = b"".join(self._received)
            self._received.clear()
            try:
                _deliver(self._protocol, data)
            except Exception as error:  # noqa: BLE001 - as a selector's transport does
                self._fail(error, "Fatal error: protocol.data_received() call failed.")
                return
        if self._peer_finished and self.is_reading():
            self._reading = False
            if not cast("asyncio.Protocol", self._protocol).eof_received():
                self.close()

    def _end(self, error: Exception | None) -> None:
        self._closing = True
        self._protocol.connection_lost(error)

    def _fail(self, error: Exception, message: str) -> None:
        context = {"message": message, "exception": error, "transport": self, "protocol": self._protocol}
        self._loop.call_exception_handler(context)
        self.abort()

    # Reading

    def is_reading(self) -> bool:
        """True unless paused or closing."""
        return self._reading and not self._closing

    def pause_reading(self) -> None:
        """Deliver nothing until `resume_reading`; the peer may fill its window."""
        if self._reading and not self._closing:
            self._reading = False
            self._below.pauseProducing()

    def resume_reading(self) -> None:
        """Deliver again."""
        if not self._reading and not self._closing:
            self._reading = True
            self._below.resumeProducing()
            if self._received or self._peer_finished:
                self._schedule_read()

    # Writing

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send after all that was written before."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"data argument must be a bytes-like object, not {type(data).__name__!r}")
        if self._write_closed:
            raise RuntimeError("Cannot call write() after write_eof()")
        if not self._closing and not self._lost:
            self._below.write(bytes(data))

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        """Send all as one write."""
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        """Return True: TCP can be closed in one direction."""
        return True

    def write_eof(self) -> None:
        """Send no more; continue to read."""
        if not self._closing and not self._write_closed:
            self._write_closed = True
            self._stop_producing()
            self._below.loseWriteConnection()

    def get_write_buffer_size(self) -> int:
        """The number of bytes that have not left."""
        return self._below.pending_bytes

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """The numbers of bytes at which the protocol resumes and pauses."""
        return 0, self._below.bufferSize

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set the number of bytes at which the protocol pauses; it resumes when the buffer is empty."""
        if high is None:
            high = HIGH_WATER_BYTES if low is None else 4 * low
        self._below.bufferSize = high

    def _stop_producing(self) -> None:
        """Twisted's transports close when no producer is left."""
        self._below.unregisterProducer()
        self.resume_writing()

    # Closing

    def is_closing(self) -> bool:
        """True if it is closing or closed."""
        return self._closing

    def close(self) -> None:
        """Close after what is buffered has been sent."""
        if not self._closing:
            self._closing = True
            if not self._lost:
                self._below.unregisterProducer()
                self._below.loseConnection()

    def abort(self) -> None:
        """Reset the connection."""
        self._closing = True
        if not self._lost:
            self._below.unregisterProducer()
            self._below.abortConnection()

    # Of a transport

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Give the connection to another protocol."""
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        """The protocol of the connection."""
        return self._protocol


def _deliver(protocol: asyncio.BaseProtocol, data: bytes) -> None:
    if not isinstance(protocol, asyncio.BufferedProtocol):
        cast("asyncio.Protocol", protocol).data_received(data)
        return
    while data:
        buffer = memoryview(protocol.get_buffer(len(data)))
        size = min(len(buffer), len(data))
        if not size:
            raise RuntimeError("get_buffer() returned an empty buffer")
        buffer[:size] = data[:size]
        protocol.buffer_updated(size)
        data = data[size:]


class _Connected(_Connection):
    """A connection of create_connection, which returns after `connection_made`."""

    def __init__(self, loop: VirtualEventLoop, protocol: asyncio.BaseProtocol, done: asyncio.Future[None]) -> None:
        super().__init__(loop, protocol)
        self._done = done

    def begin(self, below: VirtualTransport) -> None:
        """The connection is open."""
        super().begin(below)
        if not self._loop.is_closed():
            self._loop.call_soon(self._report)

    def _report(self) -> None:
        if not self._done.done():
            self._done.set_result(None)


class _Attempt(ClientFactory[Any]):
    """One call of create_connection."""

    noisy = False

    def __init__(self, loop: VirtualEventLoop, protocol_factory: Callable[[], asyncio.BaseProtocol]) -> None:
        self.connection: _Connection | None = None
        self.done = loop.create_future()
        self._loop = loop
        self._protocol_factory = protocol_factory

    def buildProtocol(self, addr: IAddress | None) -> ConnectionEvents | None:  # noqa: ARG002 - Twisted's signature
        """The handshake is complete."""
        if self.done.done():
            return None
        try:
            self.connection = _Connected(self._loop, self._protocol_factory(), self.done)
        except Exception as error:  # noqa: BLE001 - the caller of create_connection gets it
            self.done.set_exception(error)
            return None
        return self.connection.events

    def clientConnectionFailed(self, connector: IConnector, reason: Failure) -> None:  # noqa: ARG002 - Twisted's signature
        """The attempt failed."""
        if not self.done.done():
            self.done.set_exception(cast("Exception", reason.value))


async def connect(
    loop: VirtualEventLoop,
    protocol_factory: Callable[[], asyncio.BaseProtocol],
    host: str,
    port: int,
    local_address: tuple[str, int] | None,
) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
    """Connect; a cancelled call gives the attempt up. Raises ConnectionRefusedError, TimeoutError, OSError."""
    attempt = _Attempt(loop, protocol_factory)
    connector = loop.reactor.connectTCP(host, port, attempt, NO_TIMEOUT_S, local_address)
    try:
        await attempt.done
    except (ConnectError, ConnectionClosed) as error:
        raise system_error(error, (host, port)) from None
    except BaseException:
        if attempt.connection is not None:
            attempt.connection.abort()
        else:
            give_up(connector)
        raise
    connection = attempt.connection
    assert connection is not None, "the attempt has ended"
    return connection, connection.get_protocol()


def give_up(connector: IConnector) -> None:
    """End a connection or the attempt to make it."""
    try:
        connector.stopConnecting()
    except NotConnectingError:
        connector.disconnect()


def system_error(error: ConnectError | ConnectionClosed, address: tuple[str, int]) -> OSError:
    """The error of the system for a failed attempt to connect."""
    text = f"Connect call failed {address}"
    if isinstance(error, TwistedConnectionRefusedError):
        return ConnectionRefusedError(errno.ECONNREFUSED, text)
    if isinstance(error, (TCPTimedOutError, TwistedTimeoutError)):
        return TimeoutError(errno.ETIMEDOUT, text)
    return OSError(errno.ECONNABORTED, f"{text}: {error}")


class _ListeningSocket:
    """The address of a server, as programs read it from `server.sockets`."""

    family = socket.AF_INET
    type = socket.SOCK_STREAM

    def __init__(self, name: tuple[str, int]) -> None:
        self._name = name

    def getsockname(self) -> tuple[str, int]:
        """The address."""
        return self._name


class VirtualServer(asyncio.AbstractServer):
    """A server, as `create_server` returns it. `wait_closed` waits for its connections, as from Python 3.12 on."""

    def __init__(self, loop: VirtualEventLoop, protocol_factory: Callable[[], asyncio.BaseProtocol], port: int) -> None:
        self._loop = loop
        self._protocol_factory = protocol_factory
        self._port = port
        self._listening: IListeningPort | None = None
        self._closed = False
        self._connections: dict[_Connection, None] = {}
        self._waiters: list[asyncio.Future[None]] = []
        self._forever: asyncio.Future[None] | None = None

    @property
    def sockets(self) -> tuple[_ListeningSocket, ...]:
        """The one socket, while it listens."""
        return () if self._listening is None else (_ListeningSocket(_pair(self._listening.getHost())),)

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """The loop."""
        return self._loop

    def is_serving(self) -> bool:
        """True while it accepts connections."""
        return self._listening is not None

    def listen(self) -> None:
        """Bind the port and accept. Raises OSError if it is in use."""
        if self._listening is None and not self._closed:
            try:
                self._listening = self._loop.reactor.listenTCP(self._port, _Accepting(self))
            except CannotListenError as error:
                text = f"error while attempting to bind on address ('0.0.0.0', {self._port}): address already in use"
                raise OSError(errno.EADDRINUSE, text) from error

    async def start_serving(self) -> None:
        """Accept connections."""
        self.listen()

    async def serve_forever(self) -> None:
        """Accept connections until cancelled; then close."""
        if self._forever is not None or self._closed:
            raise RuntimeError(f"server {self!r} is {'closed' if self._closed else 'already being awaited'}")
        self.listen()
        self._forever = self._loop.create_future()
        try:
            await self._forever
        finally:
            self._forever = None
            self.close()

    def close(self) -> None:
        """Accept no more; open connections stay."""
        if self._closed:
            return
        self._closed = True
        self._loop.server_closed(self)
        listening, self._listening = self._listening, None
        if listening is not None:
            listening.stopListening()
        if self._forever is not None and not self._forever.done() and not self._loop.is_closed():
            self._forever.cancel()
        self._wake_up()

    async def wait_closed(self) -> None:
        """Wait until it is closed, and its connections are."""
        if not self._closed or self._connections:
            waiter = self._loop.create_future()
            self._waiters.append(waiter)
            await waiter

    def close_clients(self) -> None:
        """Close the connections."""
        for connection in list(self._connections):
            connection.close()

    def abort_clients(self) -> None:
        """Reset the connections."""
        for connection in list(self._connections):
            connection.abort()

    def accept(self) -> ConnectionEvents:
        """Make the protocol of a connection."""
        connection = _Accepted(self._loop, self._protocol_factory(), self)
        self._connections[connection] = None
        return connection.events

    def forget_connection(self, connection: _Connection) -> None:
        """A connection is closed."""
        self._connections.pop(connection, None)
        self._wake_up()

    def _wake_up(self) -> None:
        if self._closed and not self._connections and not self._loop.is_closed():
            waiters, self._waiters = self._waiters, []
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)


class _Accepted(_Connection):
    """A connection of a server."""

    def __init__(self, loop: VirtualEventLoop, protocol: asyncio.BaseProtocol, server: VirtualServer) -> None:
        super().__init__(loop, protocol)
        self._server = server

    def lost(self, reason: Failure) -> None:
        """The connection is closed."""
        super().lost(reason)
        self._server.forget_connection(self)


class _Accepting(ServerFactory):
    noisy = False

    def __init__(self, server: VirtualServer) -> None:
        self._server = server

    def buildProtocol(self, addr: IAddress | None) -> ConnectionEvents:  # noqa: ARG002 - Twisted's signature
        """A client has connected."""
        return self._server.accept()


def listen(
    loop: VirtualEventLoop, protocol_factory: Callable[[], asyncio.BaseProtocol], port: int, *, start_serving: bool
) -> VirtualServer:
    """Make a server. Raises OSError for a port in use."""
    server = VirtualServer(loop, protocol_factory, port)
    if start_serving:
        server.listen()
    return server


def _pair(address: Any) -> tuple[str, int]:
    return address.host, address.port
