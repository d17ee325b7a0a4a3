"""The work of a network thread in AutoMQ's model: a response waits for the earlier ones of its connection.

Mirrors AutoMQ's Processor (enqueueResponse, ChannelContext). Requests are distinguished by identity, because a client
may use a correlation id twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.apis.handler_result import NoResponse
from broker_sim.network.partial_response import send_in_parts
from broker_sim.network.pipelined_channel import MuteReason
from broker_sim.network.processor import Processor

if TYPE_CHECKING:
    from broker_sim.apis.handler_result import Response
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.network.channel import KafkaChannel
    from broker_sim.network.pipelined_channel import PipelinedChannel

__all__ = ["PipelinedProcessor"]


class PipelinedProcessor(Processor):
    """A share of a listener's connections."""

    def send(self, context: RequestContext, response: Response) -> None:
        """Send a response after the earlier ones of its connection."""
        self._keep(context, response)

    def finish(self, context: RequestContext, outcome: NoResponse) -> None:
        """End a request without a response, after the earlier ones have theirs."""
        self._keep(context, outcome)

    def _keep(self, context: RequestContext, result: Response | NoResponse) -> None:
        channel: PipelinedChannel = context.origin
        if channel.reasons & MuteReason.NOT_PARSED and context not in channel.pending:
            # A fault rule ends it before it is parsed.
            channel.request_queued(context)
        channel.ready[context] = result
        self.send_ready(channel)

    def send_ready(self, channel: PipelinedChannel) -> None:
        """Send the responses that are ready, up to the first request that has none."""
        pending, ready = channel.pending, channel.ready
        while pending and pending[0] in ready and not channel.partly_sent:
            context = pending[0]
            result = ready.pop(context)
            if result is NoResponse.STAY_MUTED:
                channel.abandon()
                break
            pending.popleft()
            if isinstance(result, NoResponse):
                self._finish_now(channel, context, result)
            else:
                self._send_now(channel, context, result)
        channel.responses_sent()

    def complete_send(self, channel: KafkaChannel) -> None:
        """Measure the responses that waited in the transport and are now sent, and resume the channel."""
        pipelined: PipelinedChannel = channel  # type: ignore[assignment]
        in_transport, pipelined.in_transport = pipelined.in_transport, []
        now_us = self._journal.now_us()
        for context, size, since_us in in_transport:
            self._measure(context, size, now_us - since_us)
        pipelined.responses_sent()

    def _send_now(self, channel: PipelinedChannel, context: RequestContext, response: Response) -> None:
        frame = self.encode(context, response)
        if frame is None:
            return
        on_frame = self._rpc.on_frame
        if on_frame is not None:
            channel.partly_sent = True
            if send_in_parts(context, frame, on_frame(context)):
                return
            channel.partly_sent = False
        if channel.send(frame):
            self._measure(context, len(frame), 0)
        else:
            channel.in_transport.append((context, len(frame), self._journal.now_us()))
        self._rpc.sent(context, len(frame))

    def _finish_now(self, channel: PipelinedChannel, context: RequestContext, outcome: NoResponse) -> None:
        if outcome is NoResponse.NO_OP:
            self._measure(context, 0, 0)
        elif outcome is NoResponse.LOST:
            channel.silence()
        else:
            self.refuse(channel, context.close_reason or "closed by the handler")
