"""The bounded queue between Processors and handlers. Mirrors RequestChannel (queued.max.requests).

Beside it callbacks wait: the rest of a request whose handler had to wait for an answer of another broker, and did so
without its slot. They go before requests, which have not waited in line yet; one that comes wakes a handler up.
A request goes straight to an idle handler; only when all are occupied it waits here. When the queue is full the
Processor that brings a request blocks with it, and with it every connection of that Processor, as Kafka's does.
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
    """What is left to do of a request, on a handler."""

    context: RequestContext
    function: Callable[[], None]


class WakeUpRequest:
    """What makes a handler look for callbacks when no request does."""

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
        """How many Processors wait for room."""
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
        """Let the next idle handler do the rest of a request, before it takes another one."""
        if len(self.callbacks) >= self.limit:
            raise BrokerSimError(f"the callback queue holds {self.limit} already (queued.max.requests)")
        self.callbacks.append(callback)
        if len(self.queue) < self.limit:
            self.queue.append(WAKE_UP)

    def next_request(self) -> RequestContext | CallbackRequest | None:
        """The oldest callback or else request, for a handler that is idle now; a blocked Processor gets the room."""
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
        """Forget everything that waits: the broker is gone."""
        self.queue.clear()
        self.callbacks.clear()
        self._blocked.clear()
