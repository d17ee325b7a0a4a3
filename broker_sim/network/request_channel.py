"""The bounded queue between Processors and handlers. Mirrors RequestChannel (queued.max.requests).

A request goes straight to an idle handler; only when all are occupied it waits here. When the queue is full the
Processor that brings a request blocks with it, and with it every connection of that Processor, as Kafka's does.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.network.handler_pool import HandlerPool
    from broker_sim.network.processor import Processor

__all__ = ["RequestChannel"]


class RequestChannel:
    """Requests in the order in which they were read; `limit` is queued.max.requests."""

    __slots__ = ("_blocked", "_pool", "limit", "peak", "queue")

    def __init__(self, limit: int, pool: HandlerPool) -> None:
        self.limit = limit
        self.peak = 0
        self._pool = pool
        self.queue: deque[RequestContext] = deque()
        self._blocked: deque[tuple[Processor, RequestContext]] = deque()
        pool.request_channel = self

    def __len__(self) -> int:
        return len(self.queue)

    @property
    def blocked_processors(self) -> int:
        """How many Processors wait for room."""
        return len(self._blocked)

    def send_request(self, context: RequestContext, processor: Processor) -> None:
        """Hand a request to an idle handler, or queue it, or block its Processor with it."""
        pool = self._pool
        if pool.busy < pool.size and not self.queue:
            pool.run(context)
        elif len(self.queue) < self.limit:
            self.queue.append(context)
            self.peak = max(self.peak, len(self.queue))
        else:
            processor.block()
            self._blocked.append((processor, context))

    def next_request(self) -> RequestContext | None:
        """The oldest request, for a handler that has become idle; a blocked Processor gets the room."""
        if not self.queue:
            return None
        context = self.queue.popleft()
        if self._blocked:
            processor, waiting = self._blocked.popleft()
            self.queue.append(waiting)
            processor.resume()
        return context

    def clear(self) -> None:
        """Forget everything that waits: the broker is gone."""
        self.queue.clear()
        self._blocked.clear()
