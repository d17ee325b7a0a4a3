"""Channels on TLS: no frame goes out before the handshake is done and the server is who it should be.

Mirrors SslChannelBuilder and what KafkaChannel does with an SslTransportLayer. A handshake that fails is an
SslAuthenticationFailed, which no later attempt heals; so is an error of TLS before the first response, because since
TLS 1.3 a server judges a client's certificate after the client believes that the handshake is done (KAFKA-8834). A
connection that ends without a word is an ordinary disconnection, as in Kafka. All of it is within
socket.connection.setup.timeout.ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from OpenSSL import SSL
from twisted.internet.interfaces import IHandshakeListener, IPushProducer
from twisted.internet.protocol import connectionDone
from zope.interface import implementer

from broker_client.core.network.kafka_channel import ChannelFactory, ChannelState, KafkaChannel
from broker_client.errors import SslAuthenticationFailed
from sim_runtime.ssl_failures import why_client_failed
from sim_runtime.ssl_transport_layer import client_side
from sim_runtime.virtual_host import HostReactor

if TYPE_CHECKING:
    from random import Random

    from twisted.internet.protocol import ClientFactory
    from twisted.python.failure import Failure

    from broker_client.core.network.channel_builder import ChannelBuilder
    from broker_client.core.network.kafka_channel import ChannelEvents
    from protocol_specs.framing import FrameReader
    from sim_runtime.interfaces import IReactor
    from sim_runtime.ssl_engine import SslEngineFactory
    from sim_runtime.ssl_transport_layer import SslTransportLayer

__all__ = ["SslChannelBuilder", "SslKafkaChannel"]


@implementer(IHandshakeListener, IPushProducer)
class SslKafkaChannel(KafkaChannel):
    """A send is complete when TLS has handed all of it on, and TCP's buffer is not beyond its limit."""

    def __init__(
        self,
        node_id: int,
        host: str,
        port: int,
        events: ChannelEvents,
        reader: FrameReader,
        *,
        engines: SslEngineFactory,
        reactor: IReactor,
    ) -> None:
        super().__init__(node_id, f"{host}:{port}", events, reader)
        self._host = host
        self._engines = engines
        self._reactor = reactor
        self._paused = False
        self._has_received = False

    def send(self, frame: bytes) -> None:
        """Encrypt and hand on one whole frame; raises IllegalState while another is pending."""
        super().send(frame)
        if not self._paused:
            self._reactor.callLater(0, self._handed_on)

    def connectionMade(self) -> None:  # noqa: N802
        """TCP is there; TLS begins."""
        self._take_transport()

    def handshakeCompleted(self) -> None:  # noqa: N802
        """The handshake is done: check that the server is the expected one."""
        engine = self._layer().engine
        if self._events is None or engine is None:
            return
        problem = self._engines.host_problem(engine, self._host)
        if problem is None:
            self._become_ready(streaming=True)
            return
        option = (
            "connect by one of these names, or switch the check off by an empty ssl.endpoint.identification.algorithm"
        )
        self._fail_authentication(SslAuthenticationFailed(f"{self.address}: {problem}: {option}"))

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        """Decrypted bytes."""
        self._has_received = True
        super().dataReceived(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802 # type: ignore[override]
        """The connection is gone: by a failure of TLS, or as any other is lost."""
        error = reason.value
        if isinstance(error, SSL.Error) and not self._has_received:
            self._transport = None
            events, self._events = self._events, None
            if events is not None:
                self.state = ChannelState.AUTHENTICATION_FAILED
                self.failure = SslAuthenticationFailed(
                    f"{self.address}: {why_client_failed(error, self._layer().peer)}"
                )
                events.channel_lost(self, str(self.failure))
        elif self.state is ChannelState.NOT_CONNECTED and self._events is not None:
            self._transport = None
            events, self._events = self._events, None
            events.channel_lost(
                self,
                f"{self.address} ended the connection during the TLS handshake: security.protocol=SSL may not be the "
                f"listener's, which may be PLAINTEXT ({reason.getErrorMessage()})",
            )
        else:
            super().connectionLost(reason)

    def pauseProducing(self) -> None:  # noqa: N802
        """More is buffered than may be."""
        self._paused = True

    def resumeProducing(self) -> None:  # noqa: N802
        """The buffered bytes are written."""
        self._paused = False
        super().resumeProducing()

    def _handed_on(self) -> None:
        if not self._paused:
            super().resumeProducing()

    def _layer(self) -> SslTransportLayer:
        return cast("SslTransportLayer", self.transport)

    def _socket_transport(self) -> object:
        return self._layer().transport


class SslChannelBuilder:
    """Mirrors SslChannelBuilder in Mode.CLIENT."""

    def __init__(self, engines: SslEngineFactory) -> None:
        self._engines = engines

    def for_client(self, client_id: str, random: Random) -> ChannelBuilder:  # noqa: ARG002 - see ClientChannels
        """One builder serves all clients: OpenSSL has its own random numbers."""
        return self

    def build(
        self, *, node_id: int, host: str, port: int, events: ChannelEvents, reader: FrameReader, reactor: IReactor
    ) -> tuple[KafkaChannel, ClientFactory[Any]]:
        """A channel on TLS; SNI carries the server's name.

        Raises:
            SslConfigError: no run on virtual time could be repeated with the client's key.
        """
        if isinstance(reactor, HostReactor):
            self._engines.check_repeatable()
        channel = SslKafkaChannel(node_id, host, port, events, reader, engines=self._engines, reactor=reactor)
        return channel, client_side(self._engines, host, ChannelFactory(channel), reactor)
