"""How many bytes of requests may be in the broker (`queued.max.request.bytes`). Mirrors SimpleMemoryPool.

A request of an API whose message keeps its bytes (records, group metadata ...) holds them until a handler has had it;
of all others the bytes are free as soon as they are parsed. While nothing is left nobody reads, at any listener; what
is answered still leaves, and new connections are registered. As in Kafka the last request may take more than is left.
Used only where the option is set: Processors are then of the kinds made here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.network.processor import CONNECTION_QUEUE_SIZE, Processor

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import HandlerResult, NoResponse, Response
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.network.acceptor import Acceptor
    from broker_sim.network.channel import KafkaChannel
    from broker_sim.network.socket_server import SocketServer

__all__ = ["MemoryPool", "memory_pool", "pooled"]

QUEUED_MAX_BYTES: Final = "queued.max.request.bytes"


def memory_pool(config: BrokerConfig) -> MemoryPool:
    """The pool that a broker's file asks for, into which every request fits."""
    size = config[QUEUED_MAX_BYTES]
    assert isinstance(size, int)
    assert size >= config.socket_request_max_bytes, "a broker does not start with less"
    return MemoryPool(size)


class MemoryPool:
    """`available` may be below 0: only an empty pool refuses."""

    __slots__ = ("_held", "available", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.available = size
        self._held: dict[RequestContext, int] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing can be read."""
        return self.available <= 0

    def hold(self, context: RequestContext) -> None:
        """Take a request's bytes."""
        self._held[context] = context.size_bytes
        self.available -= context.size_bytes

    def release(self, context: RequestContext) -> bool:
        """Give a request's bytes back, once; whether the pool was empty until then."""
        size = self._held.pop(context, 0)
        was_empty = self.is_empty
        self.available += size
        return was_empty and not self.is_empty

    def held_by(self, channel: KafkaChannel) -> list[RequestContext]:
        """The requests of a connection that hold bytes."""
        return [context for context in self._held if context.origin is channel]


class PooledProcessor(Processor):
    """A Processor that does not read while the pool is empty."""

    def __init__(self, server: SocketServer, processor_id: int, acceptor: Acceptor) -> None:
        super().__init__(server, processor_id, acceptor)
        assert server.memory_pool is not None
        self._memory = server.memory_pool
        self._waits_for_room = False
        self._waits_for_memory = False
        self.on_request = self._hold
        self.handled = self._handled

    @property
    def accepts_connections(self) -> bool:
        """Whether an Acceptor may hand over one more: an empty pool keeps nobody from registering."""
        return not self._waits_for_room or len(self.new_connections) < CONNECTION_QUEUE_SIZE

    def add_connection(self, channel: KafkaChannel) -> None:
        """Take a new connection."""
        if self._waits_for_room:
            super().add_connection(channel)
        else:
            self._register(channel)

    def block(self) -> None:
        """A request waits for room in the RequestChannel."""
        self._waits_for_room = True
        super().block()

    def resume(self) -> None:
        """The RequestChannel has room again; there may still be no memory."""
        super().resume()
        self._waits_for_room = False
        if self._waits_for_memory:
            self.blocked = True

    def starve(self) -> None:
        """The pool is empty: read nothing."""
        self._waits_for_memory = True
        self.blocked = True

    def feed(self) -> None:
        """The pool is no longer empty: read on."""
        self._waits_for_memory = False
        if not self._waits_for_room:
            self.blocked = False
            self._go_on()

    def blocked_us(self) -> int:
        """How long it has been blocked; waiting for memory is waiting in `poll`, which counts as idle."""
        return super().blocked_us() if self._waits_for_room else self._blocked_us

    def send(self, context: RequestContext, response: Response) -> None:
        """A request that a fault rule has ended, which no handler has served, is free too."""
        self._release(context)
        super().send(context, response)

    def finish(self, context: RequestContext, outcome: NoResponse) -> None:
        """As `send`."""
        self._release(context)
        super().finish(context, outcome)

    def forget(self, channel: KafkaChannel) -> None:
        """A connection is gone, and the requests that it had in the queue."""
        for context in self._memory.held_by(channel):
            self._release(context)
        super().forget(channel)

    def _hold(self, context: RequestContext) -> None:
        if context.api_key.facts.keeps_bytes:
            self._memory.hold(context)
            if self._memory.is_empty:
                for processor in self.server.processors:
                    if isinstance(processor, PooledProcessor):
                        processor.starve()

    def _handled(self, context: RequestContext, result: HandlerResult) -> None:
        """A handler has served the request: its bytes are free."""
        self._release(context)
        self._rpc.respond(context, result)

    def _release(self, context: RequestContext) -> None:
        if self._memory.release(context):
            for processor in self.server.processors:
                if isinstance(processor, PooledProcessor):
                    processor.feed()


def pooled(processor_type: type[Processor]) -> type[Processor]:
    """The kind of Processor that heeds the pool, on top of another kind."""
    if processor_type is Processor:
        return PooledProcessor
    return type(f"Pooled{processor_type.__name__}", (PooledProcessor, processor_type), {})
