"""A listener: accepts connections, checks quotas, assigns each to a Processor. Mirrors SocketServer's Acceptor.

Kafka's Acceptor thread waits for `max.connections`, for `max.connection.creation.rate` and for Processors whose queues
of new connections are full. Here the first new connection waits for them, and all others wait behind it: the kernel has
accepted them, but the broker does not read from them. At most socket.listen.backlog.size connections wait; further ones
are closed.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.protocol import Protocol, ServerFactory
from twisted.logger import Logger

from broker_sim.apis.request_context import ConnectionInfo
from broker_sim.config.broker_listeners import KERNEL_BACKLOG
from broker_sim.network.connection_quotas import ConnectionQuotas, ConnectionThrottled, TooManyConnections
from broker_sim.network.thread_pools import check_resize

if TYPE_CHECKING:
    from twisted.internet.interfaces import IAddress, IDelayedCall, IListeningPort

    from broker_sim.config.broker_listeners import Listener
    from broker_sim.network.admission import Admission
    from broker_sim.network.channel import KafkaChannel
    from broker_sim.network.plane import Plane
    from broker_sim.network.processor import Processor
    from broker_sim.network.socket_server import SocketServer
    from broker_sim.network.ssl_listener import ListenerEngines
    from broker_sim.security.sasl.sasl_listener import SaslListener

__all__ = ["WITH_TLS", "Acceptor"]

WITH_SASL: Final = ("SASL_PLAINTEXT", "SASL_SSL")
WITH_TLS: Final = ("SSL", "SASL_SSL")
ROUNDING_S: Final = 5e-7
"""Timers of real reactors may fire a little early."""

_log = Logger()


class Acceptor(ServerFactory):
    """One listener's socket, its Processors and its connections."""

    noisy = False

    def __init__(
        self,
        server: SocketServer,
        quotas: ConnectionQuotas,
        endpoint: Listener,
        plane: Plane,
        *,
        processors: int,
        backlog: int,
    ) -> None:
        self.server = server
        self.quotas = quotas
        self.backlog = backlog
        self.endpoint = endpoint
        self.listener = endpoint.name
        self.plane = plane
        self._processor_type = plane.processor_type
        if server.memory_pool is not None:
            from broker_sim.network.memory_pool import pooled

            self._processor_type = server.node.config.part_types.of(pooled(plane.processor_type))
        self.sasl: SaslListener | None = None
        """The SASL settings of the listener; None without SASL."""
        if endpoint.security_protocol in WITH_SASL:
            from broker_sim.network.sasl_processor import authenticated

            self.sasl = _sasl_listener(self)
            self._processor_type = server.node.config.part_types.of(authenticated(self._processor_type))
        self.processors: list[Processor] = []
        self.set_processors(processors)
        self.waiting: deque[KafkaChannel] = deque()
        """Accepted connections that are not read yet; the quotas are checked for the first one."""
        self.throttled: dict[KafkaChannel, IDelayedCall] = {}
        """Connections of addresses that connect too fast; each is closed at the end of its throttle time."""
        self._limit_bytes = server.node.config.socket_request_max_bytes
        self._next_processor = 0
        self._next_index = 0
        self._port: IListeningPort | None = None
        self._local = ""
        self._paced = False
        """True when the first waiting connection is already counted in the creation rates."""
        self._paced_until_s = 0.0
        self._pace: IDelayedCall | None = None
        self._admitting = False
        self._blocked_us = 0
        self._blocked_since_us = -1
        self._factory: ServerFactory = self
        """Builds the protocol of a connection: this Acceptor, or a TLS factory that wraps it."""
        self.ssl: ListenerEngines | None = None
        self.admission: Admission | None = None
        """A fault of this listener."""
        if endpoint.security_protocol in WITH_TLS:
            from broker_sim.network.ssl_listener import with_tls

            self._factory, self.ssl = with_tls(self, server.node.config)

    def listen(self) -> None:
        """Bind and listen; the listener keeps the port that the system chooses for port 0."""
        endpoint = self.endpoint
        self._port = self.server.reactor.listenTCP(endpoint.port, self._factory, KERNEL_BACKLOG, endpoint.host)
        self.set_bound_port(self._port)

    def set_bound_port(self, port: IListeningPort) -> None:
        """Store the address of the listening socket, which another component may own."""
        address: Any = port.getHost()
        self._local = f"{address.host}:{address.port}"
        self.endpoint.port = int(address.port)

    @property
    def port(self) -> IListeningPort | None:
        """The listening socket, None if another component owns it or there is none."""
        return self._port

    def stop_listening(self) -> object:
        """Close the listening socket; connections stay. Returns a Deferred if it closes later."""
        port, self._port = self._port, None
        return None if port is None else port.stopListening()

    def buildProtocol(self, addr: IAddress | None) -> Protocol | None:  # noqa: N802
        """Make the channel of a connection that the kernel has accepted."""
        if self.admission is not None and not self.admission.admits(addr):
            return None
        info = ConnectionInfo(
            connection_id="",
            client_host=str(getattr(addr, "host", "unknown")),
            client_port=int(getattr(addr, "port", 0)),
            listener_name=self.listener,
            security_protocol=self.endpoint.security_protocol,
        )
        channel = self.plane.channel_type(self, info, limit_bytes=self._limit_bytes)
        channel.factory = self
        return channel

    # Processors.

    def resize_processors(self, size: int) -> None:
        """Change num.network.threads: new Processors get new connections, removed ones close theirs.

        Raises:
            ConfigError: The size is below 1, below half or above double the current size.
        """
        check_resize("num.network.threads", len(self.processors), size)
        self.set_processors(size)
        self.admit_waiting()

    def set_processors(self, size: int) -> None:
        """Add or remove Processors until there are `size`; the size of the step is not checked."""
        while len(self.processors) < size:
            self.processors.append(self._processor_type(self.server, self.server.next_processor_id(), self))
        removed = self.processors[size:]
        del self.processors[size:]
        for processor in removed:
            processor.close(abort=False, reason="its Processor is removed (num.network.threads)")

    def blocked_us(self) -> int:
        """Return the total time in which the Acceptor has waited for a Processor with room (AcceptorBlockedPercent)."""
        if self._blocked_since_us < 0:
            return self._blocked_us
        return self._blocked_us + self.server.node.journal.now_us() - self._blocked_since_us

    # Connections.

    def connection_made(self, channel: KafkaChannel) -> None:
        """Assign a connection to a Processor, or queue it behind those that wait."""
        faults = self.server.connection_faults
        if faults is not None and faults.active:
            faults.connected(channel, self.server.node.id)
        if not self.waiting and self._may_admit_first():
            self._admit(channel)
        elif len(self.waiting) < self.backlog:
            channel.transport.pauseProducing()
            self.waiting.append(channel)
        else:
            self._reject(channel, "the Acceptor waits, and so do socket.listen.backlog.size connections")

    def connection_closed(self, channel: KafkaChannel) -> None:
        """Release a closed connection's quota, and admit a connection that waits for it, at any listener."""
        self.quotas.decrement(self.listener, channel.info.client_host)
        self.server.admit_waiting()

    def admit_waiting(self) -> None:
        """Admit waiting connections, oldest first, while the quotas and the Processors allow it."""
        if self._admitting:
            return
        self._admitting = True
        try:
            while self.waiting:
                channel = self.waiting[0]
                if channel.disconnected:
                    self.waiting.popleft()
                elif self._may_admit_first():
                    self.waiting.popleft()
                    channel.transport.resumeProducing()
                    self._admit(channel)
                else:
                    return
        finally:
            self._admitting = False

    def close_waiting(self) -> None:
        """Reset the connections that are not read yet."""
        if self._pace is not None:
            self._pace.cancel()
            self._pace = None
        while self.waiting:
            self.waiting.popleft().abort("the broker has stopped")
        for channel, timer in list(self.throttled.items()):
            timer.cancel()
            channel.abort("the broker has stopped")
        self.throttled.clear()

    def _may_admit_first(self) -> bool:
        """True if the first connection may be admitted; counts its arrival once. Mirrors waitForConnectionSlot."""
        reactor = self.server.reactor
        now_s = reactor.seconds()
        if not self._paced:
            throttle_ms = self.quotas.creation_throttle_ms(self.listener, round(now_s * 1000))
            self._paced = True
            self._paced_until_s = now_s + throttle_ms / 1000
            if throttle_ms > 0:
                self._pace = reactor.callLater(throttle_ms / 1000, self._creation_delay_ended)
        if now_s < self._paced_until_s - ROUNDING_S:
            return False
        if not self.quotas.slot_available(self.listener):
            return False
        if any(processor.accepts_connections for processor in self.processors):
            self._blocked_us = self.blocked_us()
            self._blocked_since_us = -1
            return True
        if self._blocked_since_us < 0:
            self._blocked_since_us = self.server.node.journal.now_us()
        return False

    def _creation_delay_ended(self) -> None:
        self._pace = None
        self._paced_until_s = 0.0
        self.admit_waiting()

    def _admit(self, channel: KafkaChannel) -> None:
        self._paced = False
        try:
            self.quotas.increment(self.listener, channel.info.client_host, round(self.server.reactor.seconds() * 1000))
        except ConnectionThrottled as error:
            self._throttle(channel, error)
        except TooManyConnections as error:
            self._reject(channel, str(error))
        else:
            self._assign(channel)

    def _assign(self, channel: KafkaChannel) -> None:
        """Assign a connection to the next Processor with room, round robin."""
        processors = self.processors
        while True:
            processor = processors[self._next_processor % len(processors)]
            self._next_processor += 1
            if processor.accepts_connections:
                break
        info = channel.info
        info.connection_id = f"{self._local}-{info.client_host}:{info.client_port}-{processor.id}-{self._next_index}"
        self._next_index += 1
        channel.processor = processor
        processor.add_connection(channel)
        if self.quotas.excess:
            # It has arrived at the inter-broker listener, where max.connections does not apply.
            self.server.close_excess_connections()

    def _throttle(self, channel: KafkaChannel, error: ConnectionThrottled) -> None:
        """Close a connection after its delay; until then it is neither counted nor read. Mirrors DelayedCloseSocket."""
        channel.transport.pauseProducing()

        def close() -> None:
            del self.throttled[channel]
            self._reject(channel, str(error))

        self.throttled[channel] = self.server.reactor.callLater(error.throttle_ms / 1000, close)

    def _reject(self, channel: KafkaChannel, reason: str) -> None:
        info = channel.info
        _log.warn(
            "broker {broker_id}: closing connection {connection_id}: {reason}",
            broker_id=self.server.node.id,
            connection_id=info.connection_id or f"{self._local}-{info.client_host}:{info.client_port}",
            reason=reason,
        )
        channel.close(reason)


def _sasl_listener(acceptor: Acceptor) -> SaslListener:
    from broker_sim.security.sasl.sasl_listener import SaslListener

    node = acceptor.server.node
    return SaslListener(
        acceptor.listener,
        node.config,
        credential_of=node.scram_credential,
        token_login=node.token_login,
        random=node.random(f"SASL nonces {acceptor.listener}"),
        now_ms=node.now_ms,
    )
