"""A broker's network layer, wired: listener, Processors, RequestChannel, handlers. Mirrors kafka.network.SocketServer.

All stages live on one reactor and hand over by plain calls. A turn is one delivery of bytes (or one wake-up) with all
that follows from it; channels that become readable inside of a turn are served at its end, so that a handler is never
entered from within another one.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from broker_sim.apis.request_context import DEFAULT_LISTENER
from broker_sim.network.acceptor import Acceptor
from broker_sim.network.connection_quotas import ConnectionQuotas, parse_overrides
from broker_sim.network.handler_pool import HandlerPool
from broker_sim.network.processor import Processor
from broker_sim.network.request_channel import RequestChannel
from broker_sim.network.thread_pools import check_resize

if TYPE_CHECKING:
    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.broker import Broker
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.config.definitions import ConfigValue
    from broker_sim.network.channel import KafkaChannel
    from sim_runtime.interfaces import IReactor

__all__ = ["SocketServer"]


class SocketServer:
    """Serves one broker's clients.

    It needs of the broker: `id`, `config`, `release`, `journal`, `faults`, `apis` (a KafkaApis). `start` binds;
    `stop` closes in order; `abort` resets everything, as a crash does. A new life of the broker takes a new
    SocketServer, with the old one's `port`.
    """

    def __init__(self, broker: Broker, *, reactor: IReactor, host: str, port: int = 0) -> None:
        config = broker.config
        self.broker = broker
        self.reactor = reactor
        self.host = host
        self.port = port
        self.turn_us = 0
        self.last_request_id = 0
        self._now_us = broker.journal.now_us
        self.started_us = broker.journal.now_us()
        self._ready: deque[KafkaChannel] = deque()
        self._in_turn = False
        self._wake_up: IDelayedCall | None = None
        self.handler_pool = HandlerPool(
            reactor=reactor, now_us=self._now_us, apis=broker.apis, size=config.num_io_threads
        )
        self.request_channel = RequestChannel(config.queued_max_requests, self.handler_pool)
        self.processors = [Processor(self, index) for index in range(config.num_network_threads)]
        self.connection_quotas = _connection_quotas(config, DEFAULT_LISTENER)
        self.acceptor = Acceptor(self, self.connection_quotas, backlog=config.socket_listen_backlog_size)
        self._next_processor_id = len(self.processors)

    def start(self) -> int:
        """Bind and listen; answers the port, which the system has chosen when it was 0."""
        self.port = self.acceptor.listen(self.host, self.port)
        return self.port

    def stop(self) -> None:
        """Stop listening and close every connection once its answered responses are sent."""
        self._close(abort=False, reason="the broker is shutting down")

    def abort(self) -> None:
        """Stop listening and reset every connection; what waits is forgotten."""
        self._close(abort=True, reason="the broker has died")

    def stop_listening(self) -> None:
        """Take no new connections; those that are open stay."""
        self.acceptor.stop_listening()

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return sum(len(processor.channels) for processor in self.processors)

    def handler_idle_ratio(self) -> float:
        """Of all handlers' time since the start, what they waited for requests (RequestHandlerAvgIdlePercent)."""
        busy_us = self.broker.apis.request_metrics.busy_us + self.handler_pool.held_us
        return self._idle_ratio(busy_us, self.handler_pool.size)

    def processor_idle_ratio(self) -> float:
        """Of all Processors' time since the start, what they were not blocked (NetworkProcessorAvgIdlePercent)."""
        return self._idle_ratio(sum(processor.blocked_us() for processor in self.processors), len(self.processors))

    def _idle_ratio(self, busy_us: int, size: int) -> float:
        elapsed_us = max(1, self._now_us() - self.started_us)
        return min(1.0, max(0.0, 1 - busy_us / (size * elapsed_us)))

    # What may change while the server runs.

    def reconfigure(self, config: BrokerConfig) -> None:
        """Take a changed configuration over, which is checked already. Mirrors its Reconfigurables."""
        listener = self.acceptor.listener
        quotas = self.connection_quotas
        quotas.max_connections_per_ip = config.max_connections_per_ip
        quotas.overrides = parse_overrides(str(config["max.connections.per.ip.overrides"]))
        quotas.set_max_creation_rate(_integer(config["max.connection.creation.rate"]))
        own_rate = _integer(config.for_listener("max.connection.creation.rate", listener))
        quotas.set_max_creation_rate(own_rate, listener=listener)
        quotas.set_listener_max_connections(listener, _integer(config.for_listener("max.connections", listener)))
        if config.max_connections != quotas.max_connections:
            self.set_max_connections(config.max_connections)
        if config.num_network_threads != len(self.processors):
            self._set_processors(config.num_network_threads)
        if config.num_io_threads != self.handler_pool.size:
            self.handler_pool.resize(config.num_io_threads)
        self.acceptor.go_on()

    def resize_processors(self, size: int) -> None:
        """Change num.network.threads: new Processors take new connections, the last ones go with theirs."""
        check_resize("num.network.threads", len(self.processors), size)
        self._set_processors(size)

    def _set_processors(self, size: int) -> None:
        while len(self.processors) < size:
            self.processors.append(Processor(self, self._next_processor_id))
            self._next_processor_id += 1
        removed = self.processors[size:]
        del self.processors[size:]
        for processor in removed:
            processor.close(abort=False, reason="its Processor is removed (num.network.threads)")
        self.acceptor.go_on()

    def resize_handlers(self, size: int) -> None:
        """Change num.io.threads: handlers that are too many end with the request that they have."""
        check_resize("num.io.threads", self.handler_pool.size, size)
        self.handler_pool.resize(size)

    def set_max_connections(self, limit: int) -> None:
        """Change max.connections: of more than that the least recently used are closed, one a Processor in turn."""
        quotas = self.connection_quotas
        quotas.max_connections = limit
        closing = sum(1 for processor in self.processors for channel in processor.channels if channel.closed)
        excess = quotas.excess - closing
        while excess > 0:
            closed = 0
            for processor in self.processors:
                if excess > closed and processor.close_least_recently_used("max.connections is exceeded"):
                    closed += 1
            if not closed:
                return
            excess -= closed
        self.acceptor.go_on()

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
        self.acceptor.stop_listening()
        self.acceptor.close_waiting()
        self.request_channel.clear()
        self._ready.clear()
        if self._wake_up is not None:
            self._wake_up.cancel()
            self._wake_up = None
        for processor in self.processors:
            processor.close(abort=abort, reason=reason)


def _connection_quotas(config: BrokerConfig, listener: str) -> ConnectionQuotas:
    quotas = ConnectionQuotas(
        max_connections=config.max_connections,
        max_connections_per_ip=config.max_connections_per_ip,
        overrides=parse_overrides(str(config["max.connections.per.ip.overrides"])),
        max_creation_rate=_integer(config["max.connection.creation.rate"]),
        window_num=_integer(config["quota.window.num"]),
        window_size_s=_integer(config["quota.window.size.seconds"]),
    )
    quotas.add_listener(
        listener,
        max_connections=_integer(config.for_listener("max.connections", listener)),
        max_creation_rate=_integer(config.for_listener("max.connection.creation.rate", listener)),
    )
    return quotas


def _integer(value: ConfigValue) -> int:
    assert isinstance(value, int)
    return value
