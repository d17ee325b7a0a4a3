"""Listeners and connectors of the simulated network: Twisted's IListeningPort and IConnector."""

# ruff: noqa: N802, N815
# The names are those of Twisted's interfaces.

from __future__ import annotations

import errno
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred
from twisted.internet.error import (
    CannotListenError,
    DNSLookupError,
    NotConnectingError,
    TCPTimedOutError,
    UserError,
)
from twisted.internet.error import ConnectionRefusedError as TwistedConnectionRefusedError
from twisted.internet.error import TimeoutError as TwistedTimeoutError
from twisted.internet.interfaces import IConnector, IDelayedCall, IListeningPort
from twisted.internet.protocol import Protocol
from twisted.python.failure import Failure
from zope.interface import implementer

from sim_runtime.link import HANDSHAKE_RETRANSMISSION_US
from sim_runtime.paces import retransmission_us

if TYPE_CHECKING:
    from twisted.internet.protocol import ClientFactory, ServerFactory

    from sim_runtime.virtual_host import HostReactor
    from sim_runtime.virtual_transport import VirtualTransport

__all__ = ["VirtualConnector", "VirtualListeningPort"]

# Linux sends a SYN six times more before it gives up (tcp_syn_retries).
HANDSHAKE_GIVE_UP_SECONDS: Final = 127.0


@implementer(IListeningPort)
class VirtualListeningPort:
    """A listener. Accepted connections stay when it stops."""

    def __init__(self, host: HostReactor, port: int, factory: ServerFactory[Any], interface: str) -> None:
        self.factory = factory
        self.port = port
        self.interface = interface
        self.listening = False
        self._host = host
        self._stopped: Deferred[None] | None = None
        self._queue_size: int | None = None
        """The room for connections that are not accepted, None while all are."""
        self._queue: deque[VirtualTransport] = deque()
        self._expected: dict[VirtualTransport, None] = {}
        """The connections with room in the queue, whose handshake is not complete."""
        self._unanswered: dict[VirtualTransport, int] = {}
        """The time of each SYN that found no room."""

    def startListening(self) -> None:
        """Bind the port. Raises CannotListenError if it is in use."""
        if not self._host.bind(self):
            in_use = OSError(errno.EADDRINUSE, "Address already in use")
            raise CannotListenError(self.interface, self.port, in_use)
        self.listening = True
        self.factory.doStart()

    def stopListening(self) -> Deferred[None] | None:
        """Accept no more, and release the port in the next loop iteration; None if it does not listen."""
        if self.listening and self._stopped is None:
            self._stopped = Deferred()
            self._host.callLater(0, self.close)
        return self._stopped

    loseConnection = stopListening

    def close(self) -> None:
        """Release the port now."""
        if not self.listening:
            return
        self.listening = False
        self._host.unbind(self)
        self.release_accepts()
        stopped, self._stopped = self._stopped, None
        self.factory.doStop()
        if stopped is not None:
            stopped.callback(None)

    def getHost(self) -> IPv4Address:
        """The address of the listener, with the port that was chosen for port 0."""
        return IPv4Address("TCP", self.interface or self._host.ip, self.port)

    def hold_accepts(self, size: int) -> None:
        """Accept nothing: `size` connections wait with a complete handshake, further ones get no reply to their SYN."""
        self._queue_size = size

    def accept_one(self) -> None:
        """Accept the connection that has waited longest."""
        if self._queue:
            self._build(self._queue.popleft())

    def release_accepts(self) -> None:
        """Accept all that wait; clients without a reply send their SYN again after TCP's time-out."""
        self._queue_size = None
        while self._queue:
            self.accept_one()
        now_us = self._host.core.now_us
        unanswered, self._unanswered = self._unanswered, {}
        for transport, lost_us in unanswered.items():
            due_us = retransmission_us(lost_us, now_us, first_pause_us=HANDSHAKE_RETRANSMISSION_US)
            self._host.core.call_at_us(due_us, self._receive_again, transport)

    def has_room(self, transport: VirtualTransport) -> bool:
        """True if a SYN gets its reply; else its client must send it again."""
        if self._queue_size is None:
            return True
        if len(self._queue) + len(self._expected) < self._queue_size:
            self._expected[transport] = None
            return True
        self._unanswered[transport] = self._host.core.now_us
        return False

    def accept(self, transport: VirtualTransport) -> None:
        """The handshake of `transport` is done: build its protocol, unless connections are queued."""
        self._expected.pop(transport, None)
        if self._queue_size is None or not self.listening:
            self._build(transport)
        else:
            self._queue.append(transport)

    def _receive_again(self, transport: VirtualTransport) -> None:
        if not transport.other.disconnected:
            self._host.receive_syn(transport)

    def _build(self, transport: VirtualTransport) -> None:
        if transport.disconnected:
            return
        if not self.listening or self._stopped is not None:
            transport.crash()
            return
        protocol = self.factory.buildProtocol(transport.getPeer())
        if protocol is None:
            transport.drop()
        else:
            transport.establish(protocol)

    def __repr__(self) -> str:
        return f"<VirtualListeningPort {self._host.name}:{self.port} of {self.factory!r}>"


@implementer(IConnector)
class VirtualConnector:
    """One connection of a client, and the next ones by `connect()`."""

    def __init__(
        self,
        reactor: HostReactor,
        host: str,
        port: int,
        factory: ClientFactory[Any],
        timeout: float | None,
        bind_address: tuple[str, int] | None,
    ) -> None:
        self.reactor = reactor
        self.host = host
        self.port = port
        self.factory = factory
        self.timeout = timeout
        self.state = "disconnected"
        self.transport: VirtualTransport | None = None
        self._bind_address = bind_address
        self._factory_started = False
        self._timeout_call: IDelayedCall | None = None

    def connect(self) -> None:
        """Connect. Raises RuntimeError unless disconnected."""
        if self.state != "disconnected":
            raise RuntimeError("can't connect in this state")
        self.state = "connecting"
        if not self._factory_started:
            self.factory.doStart()
            self._factory_started = True
        local_port = self._bind_address[1] if self._bind_address is not None else 0
        self.transport = self.reactor.open_connection(self, self.host, self.port, local_port)
        if self.transport is None:
            self._timeout_call = self.reactor.callLater(0, self._host_unknown)
        elif self.timeout is not None and self.timeout < HANDSHAKE_GIVE_UP_SECONDS:
            self._timeout_call = self.reactor.callLater(self.timeout, self._expire, TwistedTimeoutError())
        else:
            self._timeout_call = self.reactor.callLater(HANDSHAKE_GIVE_UP_SECONDS, self._expire, TCPTimedOutError())
        self.factory.startedConnecting(self)

    def disconnect(self) -> None:
        """Stop connecting, or lose the connection."""
        if self.state == "connecting":
            self.stopConnecting()
        elif self.state == "connected" and self.transport is not None:
            self.transport.loseConnection()

    def stopConnecting(self) -> None:
        """Cancel the attempt; the factory is notified with UserError."""
        if self.state != "connecting":
            raise NotConnectingError("we're not trying to connect")
        self._expire(UserError())

    def getDestination(self) -> IPv4Address:
        """The address of the server."""
        return IPv4Address("TCP", self.host, self.port)

    def established(self, transport: VirtualTransport) -> None:
        """The handshake is complete: build the protocol and connect it."""
        self.state = "connected"
        self._cancel_timeout()
        protocol = self.factory.buildProtocol(transport.getPeer())
        if protocol is None:
            # Twisted gives such a connection a protocol without behaviour, and closes it.
            transport.attach(Protocol())
            transport.loseConnection()
        else:
            transport.establish(protocol)

    def refused(self) -> None:
        """The peer reset the attempt: the port has no listener."""
        self.fail(TwistedConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"))

    def fail(self, error: Exception) -> None:
        """The attempt failed."""
        self._cancel_timeout()
        self.transport = None
        self.state = "disconnected"
        self.factory.clientConnectionFailed(self, Failure(error))
        self._stop_factory_if_done()

    def lost(self, reason: Failure) -> None:
        """The connection is lost; its protocol is notified already."""
        self.state = "disconnected"
        self.factory.clientConnectionLost(self, reason)
        self._stop_factory_if_done()

    def __repr__(self) -> str:
        return f"<VirtualConnector {self.reactor.name} -> {self.host}:{self.port} {self.state}>"

    def _host_unknown(self) -> None:
        self.fail(DNSLookupError(f"address {self.host!r} not found: no host of this network has that name or ip"))

    def _expire(self, error: Exception) -> None:
        if self.transport is not None:
            self.transport.stop_connecting()
        self.fail(error)

    def _cancel_timeout(self) -> None:
        call, self._timeout_call = self._timeout_call, None
        if call is not None and call.active():
            call.cancel()

    def _stop_factory_if_done(self) -> None:
        if self.state == "disconnected":  # the factory has not called connect() again
            self.factory.doStop()
            self._factory_started = False
