"""Limits the bytes of requests in the broker (`queued.max.request.bytes`). Mirrors SimpleMemoryPool.

A request whose message refers to its bytes (records, group metadata ...) holds them until a handler has served it; the
bytes of all others are free as soon as they are parsed. While the pool is empty no listener reads requests; responses
are still sent, and new connections are registered. As in Kafka the last request may take more bytes than are available.
Used only if the option is set: the Processors are then PooledProcessors.
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
    """Return the pool that a broker's configuration defines; every request fits into it."""
    size = config[QUEUED_MAX_BYTES]
    assert isinstance(size, int)
    assert size >= config.socket_request_max_bytes, "a broker does not start with less"
    return MemoryPool(size)


class MemoryPool:
    """`size` bytes, `available` of them free. `available` may be below 0: only an empty pool stops reading."""

    __slots__ = ("_held", "available", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.available = size
        self._held: dict[RequestContext, int] = {}

    @property
    def is_empty(self) -> bool:
        """True if no byte is available: no request can be read."""
        return self.available <= 0

    def hold(self, context: RequestContext) -> None:
        """Reserve a request's bytes."""
        self._held[context] = context.size_bytes
        self.available -= context.size_bytes

    def release(self, context: RequestContext) -> bool:
        """Release a request's bytes, once; return True if the pool was empty and is no longer."""
        size = self._held.pop(context, 0)
        was_empty = self.is_empty
        self.available += size
        return was_empty and not self.is_empty

    def held_by(self, channel: KafkaChannel) -> list[RequestContext]:
        """Return the requests of a connection that hold bytes."""
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
        """True if an Acceptor may add one more connection: an empty pool does not prevent registration."""
        return not self._waits_for_room or len(self.new_connections) < CONNECTION_QUEUE_SIZE

    def add_connection(self, channel: KafkaChannel) -> None:
        """Register a new connection, or queue it while a request waits for the RequestChannel."""
        if self._waits_for_room:
            super().add_connection(channel)
        else:
            self._register(channel)

    def block(self) -> None:
        """Stop reading: a request waits for room in the RequestChannel."""
        self._waits_for_room = True
        super().block()

    def resume(self) -> None:
        """Resume reading when the RequestChannel has room again, unless the pool is empty."""
        super().resume()
        self._waits_for_room = False
        if self._waits_for_memory:
            self.blocked = True

    def pause_for_memory(self) -> None:
        """Stop reading: the pool is empty."""
        self._waits_for_memory = True
        self.blocked = True

    def resume_after_memory(self) -> None:
        """Resume reading: the pool is no longer empty."""
        self._waits_for_memory = False
        if not self._waits_for_room:
            self.blocked = False
            self._serve_waiting()

    def blocked_us(self) -> int:
        """Return the total blocked time; a wait for memory is a wait in `poll`, which counts as idle."""
        return super().blocked_us() if self._waits_for_room else self._blocked_us

    def send(self, context: RequestContext, response: Response) -> None:
        """Send a response; releases the bytes of a request that a fault rule has ended before a handler served it."""
        self._release(context)
        super().send(context, response)

    def finish(self, context: RequestContext, outcome: NoResponse) -> None:
        """End a request without a response; releases its bytes as `send` does."""
        self._release(context)
        super().finish(context, outcome)

    def forget(self, channel: KafkaChannel) -> None:
        """Remove a closed connection, and release the bytes of its queued requests."""
        for context in self._memory.held_by(channel):
            self._release(context)
        super().forget(channel)

    def _hold(self, context: RequestContext) -> None:
        if context.api_key.facts.keeps_bytes:
            self._memory.hold(context)
            if self._memory.is_empty:
                for processor in self.server.processors:
                    if isinstance(processor, PooledProcessor):
                        processor.pause_for_memory()

    def _handled(self, context: RequestContext, result: HandlerResult) -> None:
        """Release the bytes of a request that a handler has served."""
        self._release(context)
        self._rpc.respond(context, result)

    def _release(self, context: RequestContext) -> None:
        if self._memory.release(context):
            for processor in self.server.processors:
                if isinstance(processor, PooledProcessor):
                    processor.resume_after_memory()


def pooled(processor_type: type[Processor]) -> type[Processor]:
    """Return a subclass of a Processor type that respects the pool."""
    if processor_type is Processor:
        return PooledProcessor
    return type(f"Pooled{processor_type.__name__}", (PooledProcessor, processor_type), {})
