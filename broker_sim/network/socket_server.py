"""A broker's network layer, wired: listeners, Processors, RequestChannel, handlers. Mirrors kafka.network.SocketServer.

All stages live on one reactor and hand over by plain calls. A turn is one delivery of bytes (or one wake-up) with all
that follows from it; channels that become readable inside of a turn are served at its end, so that a handler is never
entered from within another one.
"""

from __future__ import annotations

from collections import deque
from itertools import count
from typing import TYPE_CHECKING

from broker_sim.config.connection_overrides import connection_overrides
from broker_sim.network.acceptor import Acceptor
from broker_sim.network.connection_quotas import ConnectionQuotas
from broker_sim.network.plane import control_plane, data_plane
from broker_sim.network.thread_pools import check_resize

if TYPE_CHECKING:
    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.config.broker_listeners import BrokerListeners, Listener
    from broker_sim.config.definitions import ConfigValue
    from broker_sim.network.channel import KafkaChannel
    from broker_sim.network.memory_pool import MemoryPool
    from broker_sim.network.network_node import NetworkNode
    from broker_sim.network.plane import Plane
    from broker_sim.network.processor import Processor
    from sim_runtime.interfaces import IReactor

__all__ = ["SocketServer"]


class SocketServer:
    """Serves one node's clients: `start` binds, `stop` closes in order, `abort` resets everything, as a crash does.

    A new run of the node has a new SocketServer, with the same listeners.
    """

    def __init__(self, node: NetworkNode, *, reactor: IReactor, listeners: BrokerListeners) -> None:
        config = node.config
        self.node = node
        self.reactor = reactor
        self.listeners = listeners
        self.turn_us = 0
        self.last_request_id = 0
        self._now_us = node.journal.now_us
        self.started_us = node.journal.now_us()
        self._ready: deque[KafkaChannel] = deque()
        self._in_turn = False
        self._wake_up: IDelayedCall | None = None
        self.memory_pool = _memory_pool(config)
        self.data_plane = data_plane(node, reactor)
        self.control_plane = None if listeners.control_plane is None else control_plane(node, reactor)
        self.handler_pool = self.data_plane.handler_pool
        self.request_channel = self.data_plane.request_channel
        self.connection_quotas = _connection_quotas(config, listeners)
        self._processor_ids = count()
        self.acceptors: dict[str, Acceptor] = {}
        # The control plane comes first, so that its Processor has number 0.
        for listener in sorted(listeners.all, key=lambda each: each.name != listeners.control_plane):
            self.acceptors[listener.name] = self._acceptor(listener, config)

    def _acceptor(self, listener: Listener, config: BrokerConfig) -> Acceptor:
        plane, processors = self.data_plane, _integer(config.for_listener("num.network.threads", listener.name))
        if self.control_plane is not None and listener.name == self.listeners.control_plane:
            plane, processors = self.control_plane, 1
        backlog = config.socket_listen_backlog_size
        return Acceptor(self, self.connection_quotas, listener, plane, processors=processors, backlog=backlog)

    def start(self) -> None:
        """Bind and listen; the ports that the system has chosen are the listeners' from then on."""
        for acceptor in self.acceptors.values():
            acceptor.listen()

    def next_processor_id(self) -> int:
        """Processors of all listeners are numbered together."""
        return next(self._processor_ids)

    @property
    def acceptor(self) -> Acceptor:
        """The Acceptor of the listener that other brokers use."""
        return self.acceptors[self.listeners.inter_broker]

    @property
    def processors(self) -> list[Processor]:
        """The Processors of all listeners, those of the control plane too."""
        return [processor for acceptor in self.acceptors.values() for processor in acceptor.processors]

    def go_on(self) -> None:
        """Something that newcomers wait for may have come."""
        for acceptor in self.acceptors.values():
            if acceptor.waiting:
                acceptor.go_on()

    def stop(self) -> None:
        """Stop listening and close every connection once its answered responses are sent."""
        self._close(abort=False, reason="the broker is shutting down")

    def abort(self) -> None:
        """Stop listening and reset every connection; what waits is forgotten."""
        self._close(abort=True, reason="the broker has died")

    def stop_listening(self) -> None:
        """Take no new connections; those that are open stay."""
        for acceptor in self.acceptors.values():
            acceptor.stop_listening()

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return sum(len(processor.channels) for processor in self.processors)

    @property
    def waiting_requests(self) -> int:
        """The number of requests that have arrived and wait in their connections behind an earlier request."""
        return sum(channel.waiting_requests for processor in self.processors for channel in processor.channels)

    def handler_idle_ratio(self) -> float:
        """Of all handlers' time since the start, what they waited for requests (RequestHandlerAvgIdlePercent)."""
        busy_us = self.node.request_metrics.busy_us + self.handler_pool.held_us
        return self._idle_ratio(busy_us, self.handler_pool.size)

    def processor_idle_ratio(self, plane: Plane | None = None) -> float:
        """Of all Processors' time since the start, what they were not blocked (NetworkProcessorAvgIdlePercent)."""
        processors = [each for each in self.processors if each.acceptor.plane is (plane or self.data_plane)]
        return self._idle_ratio(sum(processor.blocked_us() for processor in processors), len(processors))

    def _idle_ratio(self, busy_us: int, size: int) -> float:
        elapsed_us = max(1, self._now_us() - self.started_us)
        return min(1.0, max(0.0, 1 - busy_us / (size * elapsed_us)))

    # What may change while the server runs.

    def reconfigure(self, config: BrokerConfig) -> None:
        """Take a changed configuration over, which is checked already. Mirrors its Reconfigurables."""
        quotas = self.connection_quotas
        quotas.max_connections_per_ip = config.max_connections_per_ip
        quotas.overrides = connection_overrides(config)
        quotas.set_max_creation_rate(_integer(config["max.connection.creation.rate"]))
        for name, acceptor in self.acceptors.items():
            own_rate = _integer(config.for_listener("max.connection.creation.rate", name))
            quotas.set_max_creation_rate(own_rate, listener=name)
            quotas.set_listener_max_connections(name, _integer(config.for_listener("max.connections", name)))
            if acceptor.ssl is not None:
                acceptor.ssl.reconfigure(config)
            threads = _integer(config.for_listener("num.network.threads", name))
            if acceptor.plane is self.data_plane and threads != len(acceptor.processors):
                acceptor.set_processors(threads)
        if config.max_connections != quotas.max_connections:
            self.set_max_connections(config.max_connections)
        if config.num_io_threads != self.handler_pool.size:
            self.handler_pool.resize(config.num_io_threads)
        self.go_on()

    def resize_processors(self, size: int) -> None:
        """Change num.network.threads at every listener of the data plane."""
        for acceptor in self.acceptors.values():
            if acceptor.plane is self.data_plane:
                acceptor.resize_processors(size)

    def resize_handlers(self, size: int) -> None:
        """Change num.io.threads: handlers that are too many end with the request that they have."""
        check_resize("num.io.threads", self.handler_pool.size, size)
        self.handler_pool.resize(size)

    def set_max_connections(self, limit: int) -> None:
        """Change max.connections: what is more than that is closed."""
        self.connection_quotas.max_connections = limit
        self.close_excess_connections()
        self.go_on()

    def close_excess_connections(self) -> None:
        """Close the least recently used beyond max.connections, one a Processor in turn.

        Mirrors Processor.closeExcessConnections. Connections that are closing already count first; those of the
        listener for other brokers stay.
        """
        quotas = self.connection_quotas
        processors = [
            processor
            for name, acceptor in self.acceptors.items()
            if not quotas.is_protected(name)
            for processor in acceptor.processors
        ]
        closing = sum(1 for processor in processors for channel in processor.channels if channel.closed)
        excess = quotas.excess - closing
        while excess > 0:
            closed = 0
            for processor in processors:
                if excess > closed and processor.close_least_recently_used("max.connections is exceeded"):
                    closed += 1
            if not closed:
                return
            excess -= closed

    # Turns.

    def serve(self, channel: KafkaChannel) -> None:
        """A channel has frames: serve them, and then the channels that woke up meanwhile."""
        if self._in_turn:
            self._ready.append(channel)
            return
        self._in_turn = True
        self.turn_us = self._now_us()
        try:
            channel.serve_frames()
            while self._ready:
                self._ready.popleft().serve_frames()
        finally:
            self._in_turn = False

    def wake(self, channel: KafkaChannel) -> None:
        """A channel with waiting frames may go on: at the end of this turn, or in a turn of its own."""
        self._ready.append(channel)
        if not self._in_turn and self._wake_up is None:
            self._wake_up = self.reactor.callLater(0, self._serve_ready)

    def _serve_ready(self) -> None:
        self._wake_up = None
        if self._ready:
            self.serve(self._ready.popleft())

    def _close(self, *, abort: bool, reason: str) -> None:
        for acceptor in self.acceptors.values():
            acceptor.stop_listening()
            acceptor.close_waiting()
        self.request_channel.clear()
        if self.control_plane is not None:
            self.control_plane.request_channel.clear()
        self._ready.clear()
        if self._wake_up is not None:
            self._wake_up.cancel()
            self._wake_up = None
        for processor in self.processors:
            processor.close(abort=abort, reason=reason)


def _memory_pool(config: BrokerConfig) -> MemoryPool | None:
    if _integer(config["queued.max.request.bytes"]) <= 0:
        return None
    from broker_sim.network.memory_pool import memory_pool

    return memory_pool(config)


def _connection_quotas(config: BrokerConfig, listeners: BrokerListeners) -> ConnectionQuotas:
    quotas = ConnectionQuotas(
        max_connections=config.max_connections,
        max_connections_per_ip=config.max_connections_per_ip,
        overrides=connection_overrides(config),
        max_creation_rate=_integer(config["max.connection.creation.rate"]),
        window_num=_integer(config["quota.window.num"]),
        window_size_s=_integer(config["quota.window.size.seconds"]),
        protected_listener=listeners.inter_broker,
    )
    for listener in listeners.all:
        quotas.add_listener(
            listener.name,
            max_connections=_integer(config.for_listener("max.connections", listener.name)),
            max_creation_rate=_integer(config.for_listener("max.connection.creation.rate", listener.name)),
        )
    return quotas


def _integer(value: ConfigValue) -> int:
    assert isinstance(value, int)
    return value
