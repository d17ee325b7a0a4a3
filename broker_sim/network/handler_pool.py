"""The request handlers as slots on one reactor. Mirrors KafkaRequestHandlerPool (num.io.threads).

A handler that answers at once costs a plain call. A modelled service time, or a fault that holds the handler, occupies
its slot meanwhile, so that an exhausted pool and head-of-line blocking can be produced on purpose. A request that waits
in a purgatory occupies none.
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
"""How long, in milliseconds, a handler is busy with a request before it is applied; 0 for not at all."""


class HandlerPool:
    """`size` handlers; `busy` of them are occupied now. `service_time` models what handling costs."""

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
        """How long slots were held beyond their handlers' return."""
        self._held_since_us: dict[RequestContext, int] = {}

    def offer(self, context: RequestContext, processor: Processor) -> None:
        """Run a request on an idle handler; if there is none, or others wait, the RequestChannel takes it."""
        if self.busy < self.size and not self.request_channel.queue:
            self.run(context)
        else:
            self.request_channel.send_request(context, processor)

    def run(self, context: RequestContext) -> None:
        """Occupy a slot with a request; the caller has checked that one is free."""
        self.busy += 1
        if self.service_time is not None and (delay_ms := self.service_time(context)) > 0:
            self._reactor.callLater(delay_ms / 1000, self._handle, context)
        else:
            self._handle(context)

    def resize(self, size: int) -> None:
        """Have more handlers, or fewer: those that are busy end with their requests."""
        self.size = size
        if self.request_channel.queue:
            self._serve_queue()

    def release(self, context: RequestContext) -> None:
        """A held handler is free again."""
        if context.slot_taken:
            context.slot_taken = False
            self.busy -= 1
            self.held_us += self._now_us() - self._held_since_us.pop(context)
            self._serve_queue()

    def call_back(self, callback: CallbackRequest) -> None:
        """Do the rest of a request on a handler: at once when one is idle."""
        if self.busy < self.size:
            self._run_callback(callback)
        else:
            self.request_channel.send_callback_request(callback)

    def _run_callback(self, callback: CallbackRequest) -> None:
        """A handler dies of no error: it goes to the log, and the handler takes the next request."""
        self.busy += 1
        try:
            callback.function()
        except Exception:  # noqa: BLE001 - Kafka's handler too survives whatever a callback raises
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
        """Idle handlers take what waits; a loop, not a recursion, however many requests are answered at once."""
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
