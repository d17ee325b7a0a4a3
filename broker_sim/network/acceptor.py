"""A listener: accepts connections, checks quotas, hands each to a Processor in turn. Mirrors SocketServer's Acceptor.

Beyond `max.connections` a connection is accepted by the kernel, but nobody reads it until another one closes; as
many as socket.listen.backlog.size may wait, further ones are closed.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from twisted.internet.protocol import Protocol, ServerFactory
from twisted.logger import Logger

from broker_sim.apis.request_context import ConnectionInfo
from broker_sim.network.channel import KafkaChannel
from broker_sim.network.connection_quotas import ConnectionQuotas, TooManyConnections

if TYPE_CHECKING:
    from twisted.internet.interfaces import IAddress, IListeningPort

    from broker_sim.network.socket_server import SocketServer

__all__ = ["Acceptor"]

_log = Logger()


class Acceptor(ServerFactory):
    """One listener's socket and its connections."""

    noisy = False

    def __init__(self, server: SocketServer, quotas: ConnectionQuotas, *, backlog: int) -> None:
        self.server = server
        self.quotas = quotas
        self.backlog = backlog
        self.waiting: deque[KafkaChannel] = deque()
        """Accepted connections that `max.connections` keeps from being read."""
        self._limit_bytes = server.broker.config.socket_request_max_bytes
        self._next_processor = 0
        self._next_index = 0
        self._port: IListeningPort | None = None
        self._local = ""

    def listen(self, host: str, port: int) -> int:
        """Bind and listen; answers the port (which the system chose for 0)."""
        self._port = self.server.reactor.listenTCP(port, self, self.backlog, host)
        address: Any = self._port.getHost()
        self._local = f"{address.host}:{address.port}"
        return int(address.port)

    def stop_listening(self) -> None:
        """Close the listening socket; connections stay."""
        if self._port is not None:
            self._port.stopListening()
            self._port = None

    def buildProtocol(self, addr: IAddress | None) -> Protocol | None:  # noqa: N802
        """Make the channel of a connection that the kernel has accepted."""
        host = str(getattr(addr, "host", "unknown"))
        port = int(getattr(addr, "port", 0))
        processors = self.server.processors
        processor = processors[self._next_processor % len(processors)]
        self._next_processor += 1
        info = ConnectionInfo(
            connection_id=f"{self._local}-{host}:{port}-{processor.id}-{self._next_index}",
            client_host=host,
            client_port=port,
        )
        self._next_index += 1
        channel = KafkaChannel(processor, info, limit_bytes=self._limit_bytes)
        channel.factory = self
        return channel

    def connection_made(self, channel: KafkaChannel) -> None:
        """Hand a connection to its Processor, or let it wait for a place."""
        if self.quotas.slot_available:
            self._admit(channel)
        elif len(self.waiting) < self.backlog:
            channel.transport.pauseProducing()
            self.waiting.append(channel)
        else:
            self._turn_away(channel, "max.connections is reached and socket.listen.backlog.size connections wait")

    def connection_closed(self, channel: KafkaChannel) -> None:
        """A connection is gone: one that waits for its place is read now."""
        self.quotas.decrement(channel.info.client_host)
        while self.waiting and self.quotas.slot_available:
            newcomer = self.waiting.popleft()
            if not newcomer.disconnected:
                newcomer.transport.resumeProducing()
                self._admit(newcomer)

    def close_waiting(self) -> None:
        """Reset the connections that nobody reads yet."""
        while self.waiting:
            self.waiting.popleft().abort("the broker has stopped")

    def _admit(self, channel: KafkaChannel) -> None:
        try:
            self.quotas.increment(channel.info.client_host)
        except TooManyConnections as error:
            self._turn_away(channel, str(error))
        else:
            channel.processor.connection_made(channel)

    def _turn_away(self, channel: KafkaChannel, reason: str) -> None:
        _log.warn(
            "broker {broker_id}: closing connection {connection_id}: {reason}",
            broker_id=self.server.broker.id,
            connection_id=channel.info.connection_id,
            reason=reason,
        )
        channel.close(reason)
