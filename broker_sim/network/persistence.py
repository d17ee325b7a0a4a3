"""Models the time that makes records durable: one write takes `persist.time.ms`. Mirrors AutoMQ's WAL.

In the pipelined model waiting requests share the next write, and no handler waits with them. In the classic model the
handler that appends makes its own write and stays busy, because Kafka's handler appends to the log itself.
Only the time is modelled: the records are in the log when the handler has appended them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred

from broker_sim.network.handler_pool import HandlerPool
from protocol_specs.api_key import ApiKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.apis.request_context import RequestContext
    from broker_sim.rpc.rpc_server import RpcServer
    from sim_runtime.interfaces import IReactor

__all__ = ["GroupedPersistence", "PersistingHandlerPool"]


class GroupedPersistence:
    """One write at a time; all requests that arrive during a write share the next one."""

    __slots__ = ("_reactor", "_time_ms", "_timer", "_waiting", "requests", "writes")

    def __init__(self, reactor: IReactor, time_ms: float) -> None:
        self._reactor = reactor
        self._time_ms = time_ms
        self._waiting: list[Deferred[None]] = []
        self._timer: IDelayedCall | None = None
        self.writes = 0
        self.requests = 0

    def persist(self) -> Deferred[None]:
        """Return a Deferred that fires when a write is done that began after this call."""
        done: Deferred[None] = Deferred()
        self._waiting.append(done)
        self.requests += 1
        if self._timer is None:
            self._write()
        return done

    def stop(self) -> None:
        """Cancel the write and drop the waiting requests: the broker has stopped."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._waiting.clear()

    def _write(self) -> None:
        group, self._waiting = self._waiting, []
        self.writes += 1
        self._timer = self._reactor.callLater(self._time_ms / 1000, self._written, group)

    def _written(self, group: list[Deferred[None]]) -> None:
        self._timer = None
        if self._waiting:
            self._write()
        for done in group:
            done.callback(None)


class PersistingHandlerPool(HandlerPool):
    """Handlers of the classic model: each one writes the records that it appends."""

    __slots__ = ("_time_ms",)

    def __init__(
        self, *, reactor: IReactor, now_us: Callable[[], int], rpc: RpcServer, size: int, time_ms: float
    ) -> None:
        super().__init__(reactor=reactor, now_us=now_us, rpc=rpc, size=size)
        self._time_ms = time_ms

    def run(self, context: RequestContext) -> None:
        """Occupy a slot with a request for its service time and the time of its write."""
        self.busy += 1
        delay_ms = 0.0 if self.service_time is None else self.service_time(context)
        if context.api_key is ApiKey.PRODUCE:
            delay_ms += self._time_ms
        if delay_ms > 0:
            self._reactor.callLater(delay_ms / 1000, self._handle, context)
        else:
            self._handle(context)
