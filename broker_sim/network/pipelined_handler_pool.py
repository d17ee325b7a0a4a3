"""A fixed number of handlers with one queue per handler. Mirrors AutoMQ's KafkaRequestHandlerPool.

Each connection belongs to one handler. While the records that a handler has appended are made durable, it serves the
next request of its queue, which may be of the same connection: only the response waits for the write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.errors import ConfigError
from broker_sim.network.handler_pool import HandlerPool
from broker_sim.network.persistence import GroupedPersistence
from broker_sim.network.request_channel import CallbackRequest
from protocol_specs.api_key import ApiKey
from protocol_specs.java_hash import string_hash

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.defer import Deferred

    from broker_sim.apis.handler_result import HandlerResult
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.network.pipelined_channel import PipelinedChannel
    from broker_sim.network.pipelined_request_channel import PipelinedRequestChannel
    from broker_sim.network.processor import Processor
    from broker_sim.rpc.rpc_server import RpcServer
    from sim_runtime.interfaces import IReactor

__all__ = ["PipelinedHandlerPool"]


class PipelinedHandlerPool(HandlerPool):
    """`size` handlers, a number that does not change; Java's hash of a connection's id selects its handler."""

    __slots__ = ("_is_busy", "_queues_served", "persistence")

    request_channel: PipelinedRequestChannel

    def __init__(
        self, *, reactor: IReactor, now_us: Callable[[], int], rpc: RpcServer, size: int, persist_time_ms: float
    ) -> None:
        super().__init__(reactor=reactor, now_us=now_us, rpc=rpc, size=size)
        self.persistence = GroupedPersistence(reactor, persist_time_ms) if persist_time_ms > 0 else None
        self._is_busy = [False] * size
        self._queues_served = [False] * size

    def handler_of(self, context: RequestContext) -> int:
        """Return the number of the handler of the request's connection."""
        channel: PipelinedChannel = context.origin  # the only channel type of its Acceptor
        if channel.handler < 0:
            channel.handler = abs(string_hash(context.connection_id)) % self.size
        return channel.handler

    def is_idle(self, handler: int) -> bool:
        """True if a handler waits for a request."""
        return not self._is_busy[handler]

    def run_on(self, handler: int, context: RequestContext) -> None:
        """Occupy an idle handler with a request."""
        self._is_busy[handler] = True
        self.busy += 1
        delay_ms = 0.0 if self.service_time is None else self.service_time(context)
        if delay_ms > 0:
            self._reactor.callLater(delay_ms / 1000, self._handle, context)
        else:
            self._handle(context)

    def offer(self, context: RequestContext, processor: Processor) -> None:
        """Give a request to the RequestChannel, which has a queue per handler."""
        self.request_channel.send_request(context, processor)

    def resize(self, size: int) -> None:
        """Refuse: connections belong to handlers.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(
            f"num.io.threads={size}: the pool of thread.model=pipelined has {self.size} handlers for good"
        )

    def release(self, context: RequestContext) -> None:
        """Free a held handler."""
        if context.slot_taken:
            context.slot_taken = False
            self.held_us += self._now_us() - self._held_since_us.pop(context)
            handler = self.handler_of(context)
            self._free(handler)
            self._serve(handler)

    def call_back(self, callback: CallbackRequest) -> None:
        """Run the rest of a request on the handler of its connection: immediately if that is idle."""
        if self._is_busy[self.handler_of(callback.context)]:
            self.request_channel.send_callback_request(callback)
        else:
            self._run_callback(callback)

    def stop(self) -> None:
        """Cancel pending writes: the broker has stopped."""
        if self.persistence is not None:
            self.persistence.stop()

    def _handle(self, context: RequestContext) -> None:
        handler = self.handler_of(context)
        channel: PipelinedChannel = context.origin
        if channel.closed:
            self._free(handler)
            self._serve(handler)
            return
        result = self._rpc.handle(context)
        if context.handler_held:
            context.slot_taken = True
            self._held_since_us[context] = self._now_us()
        else:
            self._free(handler)
        if self.persistence is not None and context.api_key is ApiKey.PRODUCE:
            result = _after(self.persistence.persist(), result)
        channel.processor.handled(context, result)
        self._serve(handler)

    def _free(self, handler: int) -> None:
        self._is_busy[handler] = False
        self.busy -= 1

    def _serve(self, handler: int) -> None:
        """Run the waiting requests of an idle handler: a loop, not a recursion, as in the classic pool."""
        if self._queues_served[handler]:
            return
        self._queues_served[handler] = True
        try:
            while not self._is_busy[handler]:
                context = self.request_channel.next_request_of(handler)
                if context is None:
                    return
                if isinstance(context, CallbackRequest):
                    self._run_callback(context)
                    continue
                context.dequeued_us = self._now_us()
                self.run_on(handler, context)
        finally:
            self._queues_served[handler] = False


def _after(persisted: Deferred[None], result: HandlerResult) -> Deferred[Any]:
    return persisted.addCallback(lambda _: result)
