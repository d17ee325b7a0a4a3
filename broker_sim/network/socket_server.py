"""The network layer of a broker: listeners, Processors, RequestChannel, handlers. Mirrors kafka.network.SocketServer.

All stages run on one reactor and call each other directly. An iteration is one delivery of bytes (or one wake-up) with
all its consequences. Channels that become readable during an iteration are served at its end, so that a handler never
runs inside another one.
"""

from __future__ import annotations

from collections import deque
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

from broker_sim.config.connection_overrides import connection_overrides
from broker_sim.network.acceptor import Acceptor
from broker_sim.network.connection_quotas import ConnectionQuotas
from broker_sim.network.plane import control_plane, data_plane
from broker_sim.network.thread_pools import check_resize

if TYPE_CHECKING:
    from collections.abc import Iterable

    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.config.broker_listeners import BrokerListeners, Listener
    from broker_sim.config.definitions import ConfigValue
    from broker_sim.faults.connections import ConnectionFaults
    from broker_sim.network.admission import Admissions
    from broker_sim.network.channel import KafkaChannel
    from broker_sim.network.memory_pool import MemoryPool
    from broker_sim.network.network_node import NetworkNode
    from broker_sim.network.plane import Plane
    from broker_sim.network.processor import Processor
    from sim_runtime.interfaces import IReactor

__all__ = ["SocketServer"]


class SocketServer:
    """Serves one node's clients: `start` binds, `stop` closes in order, `abort` resets all connections like a crash.

    A new incarnation of the node has a new SocketServer with the same listeners, which numbers its requests on from
    `last_request_id`: the journal identifies a request by its broker and its number.
    """

    def __init__(
        self,
        node: NetworkNode,
        *,
        reactor: IReactor,
        listeners: BrokerListeners,
        connection_faults: ConnectionFaults | None = None,
        last_request_id: int = 0,
    ) -> None:
        config = node.config
        self.connection_faults = connection_faults
        self.stopped = False
        self.node = node
        self.reactor = reactor
        self.listeners = listeners
        self.iteration_us = 0
        """The start of the current iteration."""
        self.last_request_id = last_request_id
        self._now_us = node.journal.now_us
        self.started_us = node.journal.now_us()
        self._ready: deque[KafkaChannel] = deque()
        self._in_iteration = False
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
        """Bind and listen; the listeners keep the ports that the system chooses for port 0."""
        for acceptor in self.acceptors.values():
            acceptor.listen()
        self.register()

    def register(self) -> None:
        """Let faults apply to the listeners, which are bound, and to their connections."""
        if self.connection_faults is not None:
            self.connection_faults.add_server(self)

    @property
    def node_id(self) -> int:
        """The id of the node."""
        return self.node.id

    @cached_property
    def listening(self) -> Admissions:
        """The faults of the listeners."""
        from broker_sim.network.admission import Admissions

        return Admissions(self)

    def open_channels(self) -> Iterable[KafkaChannel]:
        """Return all connections, those that wait for admission too."""
        for acceptor in self.acceptors.values():
            yield from acceptor.waiting
            for processor in acceptor.processors:
                yield from processor.channels
                yield from processor.new_connections

    def next_processor_id(self) -> int:
        """Return the number of the next Processor; all listeners share one sequence."""
        return next(self._processor_ids)

    @property
    def acceptor(self) -> Acceptor:
        """The Acceptor of the listener that other brokers use."""
        return self.acceptors[self.listeners.inter_broker]

    @property
    def processors(self) -> list[Processor]:
        """The Processors of all listeners, including the control plane."""
        return [processor for acceptor in self.acceptors.values() for processor in acceptor.processors]

    def admit_waiting(self) -> None:
        """Admit the connections that wait at any listener, as far as the quotas and the Processors allow it."""
        for acceptor in self.acceptors.values():
            if acceptor.waiting:
                acceptor.admit_waiting()

    def stop(self) -> None:
        """Stop listening and close every connection after its gathered responses are sent."""
        self._close(abort=False, reason="the broker is shutting down")

    def abort(self) -> None:
        """Stop listening, reset every connection and drop all waiting requests."""
        self._close(abort=True, reason="the broker was killed")

    def stop_listening(self) -> None:
        """Accept no new connections; open ones stay."""
        for acceptor in self.acceptors.values():
            acceptor.stop_listening()

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return sum(len(processor.channels) for processor in self.processors)

    @property
    def waiting_requests(self) -> int:
        """The number of requests that wait in their connections behind an earlier request."""
        return sum(channel.waiting_requests for processor in self.processors for channel in processor.channels)

    def handler_idle_ratio(self) -> float:
        """Return the share of time since the start in which handlers were idle (RequestHandlerAvgIdlePercent)."""
        busy_us = self.node.request_metrics.busy_us + self.handler_pool.held_us
        return self._idle_ratio(busy_us, self.handler_pool.size)

    def processor_idle_ratio(self, plane: Plane | None = None) -> float:
        """Return the share of time since the start in which Processors were idle (NetworkProcessorAvgIdlePercent)."""
        processors = [each for each in self.processors if each.acceptor.plane is (plane or self.data_plane)]
        return self._idle_ratio(sum(processor.blocked_us() for processor in processors), len(processors))

    def _idle_ratio(self, busy_us: int, size: int) -> float:
        elapsed_us = max(1, self._now_us() - self.started_us)
        return min(1.0, max(0.0, 1 - busy_us / (size * elapsed_us)))

    # Changes while the server runs.

    def reconfigure(self, config: BrokerConfig) -> None:
        """Apply a changed configuration that is already validated. Mirrors the Reconfigurables of SocketServer."""
        quotas = self.connection_quotas
        quotas.max_connections_per_ip = config.max_connections_per_ip
        quotas.set_overrides(connection_overrides(config))
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
        self.admit_waiting()

    def resize_processors(self, size: int) -> None:
        """Change num.network.threads at every listener of the data plane.

        Raises:
            ConfigError: The size is below 1, below half or above double the current size.
        """
        for acceptor in self.acceptors.values():
            if acceptor.plane is self.data_plane:
                acceptor.resize_processors(size)

    def resize_handlers(self, size: int) -> None:
        """Change num.io.threads; busy handlers that are removed finish their requests first.

        Raises:
            ConfigError: The size is below 1, below half or above double the current size.
        """
        check_resize("num.io.threads", self.handler_pool.size, size)
        self.handler_pool.resize(size)

    def set_max_connections(self, limit: int) -> None:
        """Change max.connections and close the excess connections."""
        self.connection_quotas.max_connections = limit
        self.close_excess_connections()
        self.admit_waiting()

    def close_excess_connections(self) -> None:
        """Close the least recently used connections beyond max.connections, one per Processor and round.

        Mirrors Processor.closeExcessConnections. Connections that are already closing count first; those of the
        inter-broker listener stay.
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

    # Iterations.

    def serve(self, channel: KafkaChannel) -> None:
        """Run one iteration: serve a channel's frames, then the channels that became ready during it."""
        if self._in_iteration:
            self._ready.append(channel)
            return
        self._in_iteration = True
        self.iteration_us = self._now_us()
        try:
            channel.serve_frames()
            while self._ready:
                self._ready.popleft().serve_frames()
        finally:
            self._in_iteration = False

    def wake(self, channel: KafkaChannel) -> None:
        """Schedule a channel with waiting frames: at the end of this iteration, or in an iteration of its own."""
        self._ready.append(channel)
        if not self._in_iteration and self._wake_up is None:
            self._wake_up = self.reactor.callLater(0, self._serve_ready)

    def _serve_ready(self) -> None:
        self._wake_up = None
        if self._ready:
            self.serve(self._ready.popleft())

    def _close(self, *, abort: bool, reason: str) -> None:
        self.stopped = True
        if self.connection_faults is not None:
            self.connection_faults.remove_server(self)
        if "listening" in self.__dict__:
            self.listening.restore()
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
