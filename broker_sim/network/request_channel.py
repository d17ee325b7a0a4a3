"""The bounded queue between Processors and handlers. Mirrors RequestChannel (queued.max.requests).

A request goes directly to an idle handler; it waits here only while all handlers are occupied. When the queue is full
the Processor of the next request blocks, with every connection of that Processor, as in Kafka.
A second queue holds callbacks: the rest of a request whose handler released its slot while it waited for another
broker. Handlers take callbacks before requests; a new callback wakes a handler.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker_sim.errors import BrokerSimError

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.apis.request_context import RequestContext
    from broker_sim.network.handler_pool import HandlerPool
    from broker_sim.network.processor import Processor

__all__ = ["WAKE_UP", "CallbackRequest", "RequestChannel", "WakeUpRequest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbackRequest:
    """The rest of a request, which runs on a handler."""

    context: RequestContext
    function: Callable[[], None]


class WakeUpRequest:
    """Wakes a handler for a callback while no request is queued. Mirrors RequestChannel.WakeupRequest."""

    __slots__ = ()


WAKE_UP: Final = WakeUpRequest()


class RequestChannel:
    """Requests in the order in which they were read; `limit` is queued.max.requests."""

    __slots__ = ("_blocked", "callbacks", "limit", "peak", "queue")

    def __init__(self, limit: int, pool: HandlerPool) -> None:
        self.limit = limit
        self.peak = 0
        self.queue: deque[RequestContext | WakeUpRequest] = deque()
        self.callbacks: deque[CallbackRequest] = deque()
        self._blocked: deque[tuple[Processor, RequestContext]] = deque()
        pool.request_channel = self

    def __len__(self) -> int:
        return len(self.queue)

    @property
    def blocked_processors(self) -> int:
        """The number of Processors that wait for room."""
        return len(self._blocked)

    def send_request(self, context: RequestContext, processor: Processor) -> None:
        """Queue a request for which no handler is idle, or block its Processor with it."""
        if len(self.queue) < self.limit:
            self.queue.append(context)
            self.peak = max(self.peak, len(self.queue))
        else:
            processor.block()
            self._blocked.append((processor, context))

    def send_callback_request(self, callback: CallbackRequest) -> None:
        """Queue the rest of a request for the next idle handler, before all requests.

        Raises:
            BrokerSimError: The callback queue is full.
        """
        if len(self.callbacks) >= self.limit:
            raise BrokerSimError(f"the callback queue holds {self.limit} already (queued.max.requests)")
        self.callbacks.append(callback)
        if len(self.queue) < self.limit:
            self.queue.append(WAKE_UP)

    def next_request(self) -> RequestContext | CallbackRequest | None:
        """Return the oldest callback or else request for an idle handler; a blocked Processor gets the room."""
        if self.callbacks:
            return self.callbacks.popleft()
        while self.queue:
            context = self._take()
            if not isinstance(context, WakeUpRequest):
                return context
        return None

    def _take(self) -> RequestContext | WakeUpRequest:
        context = self.queue.popleft()
        if self._blocked:
            processor, waiting = self._blocked.popleft()
            self.queue.append(waiting)
            processor.resume()
        return context

    def clear(self) -> None:
        """Drop all waiting requests and callbacks: the broker has stopped."""
        self.queue.clear()
        self.callbacks.clear()
        self._blocked.clear()
