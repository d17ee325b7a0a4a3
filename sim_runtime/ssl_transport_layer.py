"""TLS between a TCP transport and a protocol, through memory: Twisted's, closing as Kafka does.

Mirrors SslTransportLayer. Received bytes are decrypted and delivered at once: a record may contain several frames, and
a frame may span several records, so that the protocol buffers incomplete frames. Written bytes are encrypted at once.
Certificates are verified at the time of the connection's reactor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

from twisted.internet.interfaces import IOpenSSLClientConnectionCreator, IOpenSSLServerConnectionCreator
from twisted.protocols.tls import TLSMemoryBIOFactory, TLSMemoryBIOProtocol
from zope.interface import implementer

from sim_runtime.ssl_engine import PeerCertificate, verify_at
from sim_runtime.virtual_transport import VirtualTransport

if TYPE_CHECKING:
    from OpenSSL import SSL
    from twisted.internet.interfaces import IAddress, IProtocol, IProtocolFactory, IReactorTime, ITransport

    from sim_runtime.ssl_engine import SslEngineFactory

__all__ = ["SslTransportLayer", "client_side", "server_side"]


class ServerEngines(Protocol):
    """A source of a server's connections: an SslEngineFactory, or an object that replaces it over time."""

    def connection(self) -> SSL.Connection:
        """Make a connection for a client."""
        ...


class SslTransportLayer(TLSMemoryBIOProtocol):
    """One connection's TLS: its `engine`, and the certificate of its `peer`."""

    def __init__(self, factory: TLSMemoryBIOFactory, wrapped: IProtocol) -> None:
        super().__init__(factory, wrapped)  # type: ignore[no-untyped-call]  # Twisted's
        self.peer = PeerCertificate()

    def makeConnection(self, transport: ITransport) -> None:  # noqa: N802
        """Begin TLS. On virtual time the contents of the connection are no events of the run, their sizes are."""
        if isinstance(transport, VirtualTransport):
            for end in (transport, transport.other):
                end.flow.is_encrypted = True
        super().makeConnection(transport)  # type: ignore[no-untyped-call]  # Twisted's

    def _checkHandshakeStatus(self) -> None:  # noqa: N802 - Twisted's name
        """Continue the handshake, which may verify the peer's certificate now."""
        engine = self.engine
        if engine is not None:
            verify_at(engine, cast("_Factory", self.factory).clock.seconds())
        super()._checkHandshakeStatus()  # type: ignore[no-untyped-call]  # Twisted's

    @property
    def engine(self) -> SSL.Connection | None:
        """OpenSSL's connection, None before there is one and once it is lost."""
        found: SSL.Connection | None = getattr(self, "_tlsConnection", None)
        return found

    def loseConnection(self) -> None:  # noqa: N802
        """Send the buffered bytes and close_notify, and close without waiting for the peer's close_notify."""
        transport = self.transport
        self.unregisterProducer()  # type: ignore[no-untyped-call]  # Twisted's
        super().loseConnection()  # type: ignore[no-untyped-call]  # Twisted's
        if transport is not None and not self._appSendBuffer and not self._aborted:
            transport.loseConnection()


@implementer(IOpenSSLClientConnectionCreator)
class _ClientConnections:
    def __init__(self, engines: SslEngineFactory, host: str) -> None:
        self._engines = engines
        self._host = host

    def clientConnectionForTLS(self, tlsProtocol: TLSMemoryBIOProtocol) -> SSL.Connection:  # noqa: ARG002, N802, N803
        """Called by Twisted for each connection."""
        return self._engines.connection(self._host)


@implementer(IOpenSSLServerConnectionCreator)
class _ServerConnections:
    def __init__(self, engines: ServerEngines) -> None:
        self._engines = engines

    def serverConnectionForTLS(self, tlsProtocol: TLSMemoryBIOProtocol) -> SSL.Connection:  # noqa: ARG002, N802, N803
        """Called by Twisted for each connection."""
        return self._engines.connection()


_Creator: TypeAlias = "_ClientConnections | _ServerConnections"


class _Factory(TLSMemoryBIOFactory):
    """Has the clock by which its connections verify certificates."""

    def __init__(self, creator: _Creator, is_client: bool, wrapped: IProtocolFactory, clock: IReactorTime) -> None:  # noqa: FBT001
        super().__init__(creator, is_client, wrapped, clock)
        self.clock = clock


class _ServerFactory(_Factory):
    """Closes a connection that the wrapped factory has no protocol for, as a listener without TLS does."""

    def buildProtocol(self, addr: IAddress) -> TLSMemoryBIOProtocol | None:  # type: ignore[override]  # noqa: N802
        """Make a protocol around the wrapped factory's."""
        wrapped = self.wrappedFactory.buildProtocol(addr)
        return None if wrapped is None else self.protocol(self, wrapped)


def client_side(
    engines: SslEngineFactory, host: str, factory: IProtocolFactory, clock: IReactorTime
) -> TLSMemoryBIOFactory:
    """A factory whose connections are TLS to `host` around those of `factory`."""
    wrapped = _Factory(_ClientConnections(engines, host), True, factory, clock)
    wrapped.protocol = SslTransportLayer
    return wrapped


def server_side(engines: ServerEngines, factory: IProtocolFactory, clock: IReactorTime) -> TLSMemoryBIOFactory:
    """A factory whose connections are TLS, as a server, around those of `factory`."""
    wrapped = _ServerFactory(_ServerConnections(engines), False, factory, clock)
    wrapped.protocol = SslTransportLayer
    return wrapped
