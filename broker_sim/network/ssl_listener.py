"""A listener with TLS: the same channels on decrypted bytes. Mirrors SslChannelBuilder in Mode.SERVER.

Each listener has a context of its own, from `listener.name.<listener>.ssl.*` and, where that is silent, `ssl.*`. A
client that makes no TLS is logged with what to change, as Kafka logs a failed authentication; until then its connection
counts as any other and is subject to connections.max.idle.ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from twisted.internet.protocol import connectionDone
from twisted.logger import Logger

from broker_sim.errors import ConfigError
from sim_runtime.ssl_settings import PROTOCOLS, SslConfigError, SslSettings

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

__all__ = ["ListenerEngines", "listener_settings", "with_tls"]

ENABLED: Final = "ssl.enabled.protocols"
INTERNAL_ERROR_ALERT: Final = bytes.fromhex("15030300020250")
"""What Java's TLS answers to bytes that are none, and OpenSSL leaves out: by it a client can tell what it has met."""
ALERT_BYTES_MAX: Final = 32 * 1024
_log = Logger()


class _ServerTransportLayer(SslTransportLayer):
    """Tells the log, and the channel, why there was no TLS with a client."""

    def _tlsShutdownFinished(self, reason: Failure | None) -> None:  # noqa: N802 - Twisted's name
        """TLS is over: by an error of the handshake, if there is no word of it yet, with an alert."""
        engine, transport = self.engine, self.transport
        if reason is not None and not self._handshakeDone and engine is not None and transport is not None:
            try:
                alert = engine.bio_read(ALERT_BYTES_MAX)
            except SSL.WantReadError:
                alert = INTERNAL_ERROR_ALERT
            transport.write(alert)
        super()._tlsShutdownFinished(reason)  # type: ignore[no-untyped-call]  # Twisted's

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802
        """The connection is gone, perhaps by a failure of TLS."""
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


def listener_settings(config: BrokerConfig, listener: str) -> SslSettings:
    """What a broker's file says of a listener's TLS, checked; SslConfigError for what cannot be."""

    def value_of(name: str) -> object:
        value = config.for_listener(name, listener)
        own = f"listener.name.{listener.lower()}.{name}"
        if name == ENABLED and name not in config.static and own not in config.static and isinstance(value, list):
            # Old releases begin with versions that OpenSSL no longer speaks.
            return [each for each in value if each in PROTOCOLS]
        return value

    return SslSettings.read(value_of, server=True)


class ListenerEngines:
    """A listener's current context: new stores are for new connections. Mirrors SslFactory.reconfigure (KIP-226)."""

    def __init__(self, listener: str, config: BrokerConfig) -> None:
        self._listener = listener
        self._settings = listener_settings(config, listener)
        self._engines = SslEngineFactory(self._settings, server=True)

    def connection(self) -> SSL.Connection:
        """One for a client that has come."""
        return self._engines.connection()

    def reconfigure(self, config: BrokerConfig) -> None:
        """Take changed settings over; those that cannot be are logged, and the old ones stay."""
        try:
            settings = listener_settings(config, self._listener)
            if settings != self._settings:
                self._engines = SslEngineFactory(settings, server=True)
                self._settings = settings
        except SslConfigError as error:
            _log.error("listener {listener} keeps its old ssl.*: {error}", listener=self._listener, error=error)


def with_tls(acceptor: Acceptor, config: BrokerConfig) -> tuple[ServerFactory, ListenerEngines]:
    """An Acceptor's connections inside of TLS; ConfigError names the listener and what is wrong."""
    try:
        engines = ListenerEngines(acceptor.listener, config)
    except SslConfigError as error:
        raise ConfigError(f"listener {acceptor.listener}: {error}") from None
    factory = server_side(engines, acceptor, acceptor.server.reactor)
    factory.protocol = _ServerTransportLayer
    return cast("ServerFactory", factory), engines
