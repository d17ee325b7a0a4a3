"""A network thread's work in AutoMQ's model: an answer waits for the earlier ones of its connection.

Mirrors AutoMQ's Processor (enqueueResponse, ChannelContext). Requests are told apart by themselves, not by correlation
ids, which a client may use twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.apis.request_context import NoAnswer
from broker_sim.metrics.request_metrics import TIMED_ALL, TIMED_ONE_OF
from broker_sim.network import fault_stage
from broker_sim.network.pipelined_channel import MuteReason
from broker_sim.network.processor import Processor

if TYPE_CHECKING:
    from broker_sim.apis.request_context import RequestContext, Response
    from broker_sim.network.channel import KafkaChannel
    from broker_sim.network.pipelined_channel import PipelinedChannel

__all__ = ["PipelinedProcessor"]


class PipelinedProcessor(Processor):
    """A share of a listener's connections."""

    def send_response(self, context: RequestContext, result: Response | NoAnswer) -> None:
        """Keep an answer until the earlier ones are sent; what it may cost its client begins at once."""
        if self._quotas.active:
            if not isinstance(result, NoAnswer):
                result = self._quotas.throttle(context, result)
            elif result is NoAnswer.NO_RESPONSE:
                self._quotas.throttle_without_answer(context)
        channel: PipelinedChannel = context.channel  # type: ignore[assignment]  # its Acceptor makes no others
        if channel.reasons & MuteReason.NOT_PARSED and context not in channel.unanswered:
            # A fault rule answers it before it is parsed.
            channel.request_queued(context)
        channel.ready[context] = result
        self.send_ready(channel)

    def send_message(self, context: RequestContext, response: Response) -> None:
        """Keep a response message until the earlier ones are sent."""
        self.send_response(context, response)

    def send_ready(self, channel: PipelinedChannel) -> None:
        """Send what is answered, up to the first request that is not."""
        unanswered, ready = channel.unanswered, channel.ready
        while unanswered and unanswered[0] in ready and not channel.partly_sent:
            context = unanswered[0]
            result = ready.pop(context)
            if result is NoAnswer.NEVER_ANSWERED:
                channel.abandoned = True
                break
            unanswered.popleft()
            if isinstance(result, NoAnswer):
                self._no_answer(context, result)
            else:
                self._send(channel, context, result)
        channel.answers_left()

    def complete_send(self, channel: KafkaChannel) -> None:
        """Answers that had to wait in the transport are gone."""
        pipelined: PipelinedChannel = channel  # type: ignore[assignment]
        leaving, pipelined.leaving = pipelined.leaving, []
        now_us = self._broker.journal.now_us()
        for context, size, since_us in leaving:
            self._count(context, size, now_us - since_us)
        pipelined.answers_left()

    def _send(self, channel: PipelinedChannel, context: RequestContext, response: Response) -> None:
        frame = self.encode(context, response)
        if frame is None:
            return
        if self._broker.faults.active:
            channel.partly_sent = True
            if fault_stage.mid_response(context, frame):
                return
            channel.partly_sent = False
        if channel.send(frame):
            self._count(context, len(frame), 0)
        else:
            channel.leaving.append((context, len(frame), self._broker.journal.now_us()))
        if self._broker.journal.full:
            self._record_response(context, len(frame))

    def _count(self, context: RequestContext, size: int, send_us: int) -> None:
        if context.request_id <= TIMED_ALL or not context.request_id % TIMED_ONE_OF:
            self._metrics.answered(context, size, send_us)

    def _no_answer(self, context: RequestContext, result: NoAnswer) -> None:
        if result is NoAnswer.NO_RESPONSE:
            self._count(context, 0, 0)
        else:
            assert context.channel is not None
            self.refuse(context.channel, context.close_reason or "as the handler asked")
