"""One request queue per handler, selected by the connection. Mirrors AutoMQ's RequestChannel (multiRequestQueue).

All requests of a connection go to the same handler, so they stay in order without muting. All queues share one budget
of bytes (`queued.max.requests.size.bytes`); each queue holds its share of `queued.max.requests`. A Processor blocks on
a request that exceeds the budget, or that has its budget but no room in the queue.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from broker_sim.errors import BrokerSimError
from broker_sim.network.request_channel import RequestChannel

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.network.pipelined_channel import PipelinedChannel
    from broker_sim.network.pipelined_handler_pool import PipelinedHandlerPool
    from broker_sim.network.processor import Processor
    from broker_sim.network.request_channel import CallbackRequest

__all__ = ["PipelinedRequestChannel"]


class PipelinedRequestChannel(RequestChannel):
    """`limit` is the number of requests per queue; `available_bytes` is the rest of the budget."""

    __slots__ = (
        "_handlers",
        "_waiting_for_bytes",
        "_waiting_for_room",
        "available_bytes",
        "bytes_max",
        "callback_queues",
        "queues",
    )

    def __init__(self, limit: int, bytes_max: int, pool: PipelinedHandlerPool) -> None:
        super().__init__(max(limit // pool.size, 1), pool)
        self._handlers = pool
        self.bytes_max = bytes_max
        self.available_bytes = bytes_max
        self.queues: list[deque[RequestContext]] = [deque() for _ in range(pool.size)]
        self.callback_queues: list[deque[CallbackRequest]] = [deque() for _ in range(pool.size)]
        self._waiting_for_bytes: deque[tuple[Processor, RequestContext]] = deque()
        self._waiting_for_room: list[deque[tuple[Processor, RequestContext]]] = [deque() for _ in range(pool.size)]

    def __len__(self) -> int:
        return sum(len(queue) for queue in self.queues)

    @property
    def blocked_processors(self) -> int:
        """The number of Processors that wait for budget or room."""
        return len(self._waiting_for_bytes) + sum(len(waiting) for waiting in self._waiting_for_room)

    def send_request(self, context: RequestContext, processor: Processor) -> None:
        """Run a request on its connection's handler, or queue it there, or block its Processor."""
        channel: PipelinedChannel = context.origin
        channel.request_queued(context)
        if self._waiting_for_bytes or self.available_bytes < self._cost(context):
            processor.block()
            self._waiting_for_bytes.append((processor, context))
        else:
            self._put(context, processor)

    def send_callback_request(self, callback: CallbackRequest) -> None:
        """Queue the rest of a request for the connection's handler, before its other requests.

        Raises:
            BrokerSimError: The queue is full.
        """
        queue = self.callback_queues[self._handlers.handler_of(callback.context)]
        if len(queue) >= self.limit:
            raise BrokerSimError(f"a callback queue holds {self.limit} already (queued.max.requests / num.io.threads)")
        queue.append(callback)

    def next_request_of(self, handler: int) -> RequestContext | CallbackRequest | None:
        """Return the oldest callback or else request of an idle handler; waiting requests get its bytes and room."""
        if self.callback_queues[handler]:
            return self.callback_queues[handler].popleft()
        queue = self.queues[handler]
        if not queue:
            return None
        context = queue.popleft()
        waiting = self._waiting_for_room[handler]
        if waiting:
            processor, admitted = waiting.popleft()
            queue.append(admitted)
            processor.resume()
        self._release(context)
        return context

    def clear(self) -> None:
        """Drop all waiting requests and callbacks: the broker has stopped."""
        for queue in self.queues:
            queue.clear()
        for callbacks in self.callback_queues:
            callbacks.clear()
        for waiting in self._waiting_for_room:
            waiting.clear()
        self._waiting_for_bytes.clear()
        self._handlers.stop()

    def _put(self, context: RequestContext, processor: Processor) -> None:
        handler = self._handlers.handler_of(context)
        queue = self.queues[handler]
        if not queue and self._handlers.is_idle(handler):
            self._handlers.run_on(handler, context)
            return
        self.available_bytes -= self._cost(context)
        if len(queue) < self.limit:
            queue.append(context)
            self.peak = max(self.peak, len(self))
        else:
            processor.block()
            self._waiting_for_room[handler].append((processor, context))

    def _release(self, context: RequestContext) -> None:
        self.available_bytes += self._cost(context)
        while self._waiting_for_bytes and self.available_bytes >= self._cost(self._waiting_for_bytes[0][1]):
            processor, waiting = self._waiting_for_bytes.popleft()
            processor.resume()
            self._put(waiting, processor)

    def _cost(self, context: RequestContext) -> int:
        return min(context.size_bytes, self.bytes_max)
