"""A listener with TLS: its channels read decrypted bytes. Mirrors SslChannelBuilder in Mode.SERVER.

Each listener has its own TLS context, from `listener.name.<listener>.ssl.*` and, for settings that are absent there,
`ssl.*`. The principal of a client is the subject of its certificate, as X500Principal.getName prints it:
`User:CN=a,OU=b,O=c,C=DE`; without a certificate it is User:ANONYMOUS. When a handshake fails, the log names the
necessary change, as Kafka logs a failed authentication. Until then the connection counts as any other and is subject to
connections.max.idle.ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from twisted.internet.protocol import connectionDone
from twisted.logger import Logger

from broker_sim.config.listener_ssl import listener_settings
from broker_sim.errors import ConfigError
from sim_runtime.ssl_settings import SslConfigError
from sim_runtime.virtual_host import HostReactor

try:
    from OpenSSL import SSL

    from sim_runtime.ssl_engine import SslEngineFactory
    from sim_runtime.ssl_failures import why_server_failed
    from sim_runtime.ssl_transport_layer import SslTransportLayer, server_side
except ImportError as missing:
    raise ConfigError(f"listeners: SSL needs OpenSSL for Python: pip install 'broker-sim[tls]' ({missing})") from None

if TYPE_CHECKING:
    from twisted.internet.protocol import ServerFactory
    from twisted.python.failure import Failure

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.network.acceptor import Acceptor
    from broker_sim.network.channel import KafkaChannel
    from sim_runtime.ssl_settings import SslSettings

__all__ = ["ListenerEngines", "with_tls"]

INTERNAL_ERROR_ALERT: Final = bytes.fromhex("15030300020250")
"""The alert that Java's TLS sends for bytes that are no TLS: the client recognizes a TLS server by it. OpenSSL sends
none."""
ALERT_BYTES_MAX: Final = 32 * 1024
_log = Logger()


class _ServerTransportLayer(SslTransportLayer):
    """Reports why a TLS handshake failed, to the log and to the channel; to the channel also the client's principal."""

    def _checkHandshakeStatus(self) -> None:  # noqa: N802 - Twisted's name
        """Continue the handshake; at its end the client's certificate names its principal."""
        super()._checkHandshakeStatus()
        engine = self.engine
        if self._handshakeDone and engine is not None:
            certificate = engine.get_peer_certificate()
            if certificate is not None:
                subject = certificate.to_cryptography().subject.rfc4514_string()
                cast("KafkaChannel", self.wrappedProtocol).info.principal = f"User:{subject}"

    def _tlsShutdownFinished(self, reason: Failure | None) -> None:  # noqa: N802 - Twisted's name
        """End TLS; after a failed handshake, send an alert to the client."""
        engine, transport = self.engine, self.transport
        if reason is not None and not self._handshakeDone and engine is not None and transport is not None:
            try:
                alert = engine.bio_read(ALERT_BYTES_MAX)
            except SSL.WantReadError:
                alert = INTERNAL_ERROR_ALERT
            transport.write(alert)
        super()._tlsShutdownFinished(reason)  # type: ignore[no-untyped-call]  # Twisted's

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802
        """Log a failure of TLS, and report the lost connection to the channel."""
        failed = self._reason
        channel = cast("KafkaChannel", self.wrappedProtocol)
        if failed is not None and isinstance(failed.value, SSL.Error) and not channel.close_reason:
            channel.close_reason = f"SSL handshake failed: {why_server_failed(failed.value, self.peer)}"
            _log.warn(
                "broker {broker_id}: failed authentication of {connection_id} at listener {listener}: {reason}",
                broker_id=channel.acceptor.server.node.id,
                connection_id=channel.info.connection_id,
                listener=channel.info.listener_name,
                reason=channel.close_reason,
            )
        super().connectionLost(reason)  # type: ignore[no-untyped-call]  # Twisted's


class ListenerEngines:
    """A listener's current TLS context; new key stores apply to new connections. Mirrors SslFactory (KIP-226).

    With `repeatable`, for virtual time, equal runs have handshakes of equal sizes.
    """

    def __init__(self, listener: str, config: BrokerConfig, *, repeatable: bool, sasl: bool = False) -> None:
        self._listener = listener
        self._sasl = sasl
        self._repeatable = repeatable
        self._settings = listener_settings(config, listener, sasl=sasl)
        self._engines = self._make_engines(self._settings)

    def connection(self) -> SSL.Connection:
        """Return the TLS state of a new connection."""
        return self._engines.connection()

    def reconfigure(self, config: BrokerConfig) -> None:
        """Apply changed settings; invalid ones are logged, and the old settings stay."""
        try:
            settings = listener_settings(config, self._listener, sasl=self._sasl)
            if settings != self._settings:
                self._engines = self._make_engines(settings)
                self._settings = settings
        except SslConfigError as error:
            _log.error("listener {listener} keeps its old ssl.*: {error}", listener=self._listener, error=error)

    def _make_engines(self, settings: SslSettings) -> SslEngineFactory:
        engines = SslEngineFactory(settings, server=True, repeatable=self._repeatable)
        if self._repeatable:
            engines.check_repeatable()
        return engines


def with_tls(acceptor: Acceptor, config: BrokerConfig) -> tuple[ServerFactory, ListenerEngines]:
    """Return a factory that wraps an Acceptor's connections in TLS, and the listener's contexts.

    Raises:
        ConfigError: The TLS settings of the listener are invalid.
    """
    reactor = acceptor.server.reactor
    try:
        engines = ListenerEngines(
            acceptor.listener,
            config,
            repeatable=isinstance(reactor, HostReactor),
            sasl=acceptor.sasl is not None,
        )
    except SslConfigError as error:
        raise ConfigError(f"listener {acceptor.listener}: {error}") from None
    factory = server_side(engines, acceptor, reactor)
    factory.protocol = _ServerTransportLayer
    return cast("ServerFactory", factory), engines
