"""The request handlers as slots on one reactor. Mirrors KafkaRequestHandlerPool (num.io.threads).

A handler that returns its result immediately costs one function call. A modelled service time, or a fault that holds
the handler, occupies its slot, so that a scenario can exhaust the pool or cause head-of-line blocking. A request that
waits in a purgatory occupies no slot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from twisted.logger import Logger

from broker_sim.network.channel_states import ChannelState
from broker_sim.network.request_channel import CallbackRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.apis.request_context import RequestContext
    from broker_sim.network.channel import KafkaChannel
    from broker_sim.network.processor import Processor
    from broker_sim.network.request_channel import RequestChannel
    from broker_sim.rpc.rpc_server import RpcServer
    from sim_runtime.interfaces import IReactor

__all__ = ["HandlerPool", "ServiceTime"]

_OPEN: Final = ChannelState.OPEN

_log = Logger()

ServiceTime: TypeAlias = "Callable[[RequestContext], float]"
"""Returns the time in milliseconds for which a handler is busy before it applies a request; 0 for none."""


class HandlerPool:
    """`size` handlers, `busy` of them occupied. `service_time` models the cost of handling."""

    __slots__ = (
        "_held_since_us",
        "_now_us",
        "_reactor",
        "_rpc",
        "_serving",
        "busy",
        "held_us",
        "request_channel",
        "service_time",
        "size",
    )

    request_channel: RequestChannel

    def __init__(self, *, reactor: IReactor, now_us: Callable[[], int], rpc: RpcServer, size: int) -> None:
        self.size = size
        self.busy = 0
        self.service_time: ServiceTime | None = None
        self._reactor = reactor
        self._now_us = now_us
        self._rpc = rpc
        self._serving = False
        self.held_us = 0
        """The total time in which slots were held after their handlers returned."""
        self._held_since_us: dict[RequestContext, int] = {}

    def offer(self, context: RequestContext, processor: Processor) -> None:
        """Run a request on an idle handler; if there is none, or others wait, queue it in the RequestChannel."""
        if self.busy >= self.size or self.request_channel.queue:
            self.request_channel.send_request(context, processor)
        elif self.service_time is None:
            self.busy += 1
            self._handle(context)
        else:
            self.run(context)

    def run(self, context: RequestContext) -> None:
        """Occupy a slot with a request; the caller has checked that one is free."""
        self.busy += 1
        if self.service_time is not None and (delay_ms := self.service_time(context)) > 0:
            self._reactor.callLater(delay_ms / 1000, self._handle, context)
        else:
            self._handle(context)

    def resize(self, size: int) -> None:
        """Change the number of handlers; busy handlers that are removed finish their requests first."""
        self.size = size
        if self.request_channel.queue:
            self._serve_queue()

    def release(self, context: RequestContext) -> None:
        """Free a held handler."""
        if context.slot_taken:
            context.slot_taken = False
            self.busy -= 1
            self.held_us += self._now_us() - self._held_since_us.pop(context)
            self._serve_queue()

    def call_back(self, callback: CallbackRequest) -> None:
        """Run the rest of a request on a handler: immediately if one is idle."""
        if self.busy < self.size:
            self._run_callback(callback)
        else:
            self.request_channel.send_callback_request(callback)

    def _run_callback(self, callback: CallbackRequest) -> None:
        """Run a callback; an error is logged, and the handler takes the next request."""
        self.busy += 1
        try:
            callback.function()
        except Exception:  # noqa: BLE001 - Kafka's handler too catches every error of a callback
            _log.failure("Unexpected error in a callback of {context!r}", context=callback.context)
        finally:
            self.busy -= 1

    def _handle(self, context: RequestContext) -> None:
        channel: KafkaChannel = context.origin
        if channel.state is not _OPEN and channel.closed:
            self.busy -= 1
            self._serve_queue()
            return
        result = self._rpc.handle(context)
        if context.handler_held:
            context.slot_taken = True
            self._held_since_us[context] = self._now_us()
        else:
            self.busy -= 1
        channel.processor.handled(context, result)
        if self.request_channel.queue:
            self._serve_queue()

    def _serve_queue(self) -> None:
        """Run waiting requests on idle handlers: a loop, because many immediate results would overflow a recursion."""
        if self._serving:
            return
        self._serving = True
        try:
            while self.busy < self.size:
                context = self.request_channel.next_request()
                if context is None:
                    return
                if isinstance(context, CallbackRequest):
                    self._run_callback(context)
                    continue
                context.dequeued_us = self._now_us()
                self.run(context)
        finally:
            self._serving = False
