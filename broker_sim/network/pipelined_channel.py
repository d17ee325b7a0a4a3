"""A connection with many requests in the broker, answered in their order. Mirrors AutoMQ's ChannelContext.

It is muted while as many as REQUESTS_MAX are unanswered, and by a throttle; a request that a fault rule keeps from
being parsed mutes it too, as bytes that are late do. Kafka's table of mute states is not used: more than one request
is pending.
"""

from __future__ import annotations

from collections import deque
from enum import IntFlag
from typing import TYPE_CHECKING, Final

from broker_sim.network.channel import KafkaChannel
from broker_sim.network.channel_mute import MuteState
from broker_sim.network.channel_states import ChannelState, WriteState

if TYPE_CHECKING:
    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.apis.handler_result import NoResponse, Response
    from broker_sim.apis.request_context import ConnectionInfo, RequestContext
    from broker_sim.network.acceptor import Acceptor
    from broker_sim.network.pipelined_processor import PipelinedProcessor

__all__ = ["REQUESTS_MAX", "MuteReason", "PipelinedChannel"]

REQUESTS_MAX: Final = 64
"""So many unanswered requests mute a connection. Mirrors MaxInflightRequestsPerConnection."""


class MuteReason(IntFlag):
    """Why a channel is not read."""

    NONE = 0
    THROTTLED = 1
    QUEUE_FULL = 2
    NOT_PARSED = 4


class PipelinedChannel(KafkaChannel):
    """`unanswered` are its requests in order; `ready` are answers, some of which wait for earlier ones."""

    processor: PipelinedProcessor

    def __init__(self, acceptor: Acceptor, info: ConnectionInfo, *, limit_bytes: int) -> None:
        super().__init__(acceptor, info, limit_bytes=limit_bytes)
        self.handler = -1
        """The number of the handler that it belongs to, once it has asked for something."""
        self.unanswered: deque[RequestContext] = deque()
        self.ready: dict[RequestContext, Response | NoResponse] = {}
        self.partly_sent = False
        """A fault rule has sent a part of an answer: the next one waits for the rest."""
        self.leaving: list[tuple[RequestContext, int, int]] = []
        """Answers that wait in the transport: the request, the answer's size, since when."""
        self.reasons = MuteReason.NONE
        self._throttles: dict[IDelayedCall, None] = {}

    def mute_for_request(self) -> None:
        """A request has come that is not in its queue yet."""
        self._mute(MuteReason.NOT_PARSED)

    def request_queued(self, context: RequestContext) -> None:
        """A request is on its way to its handler; the next one may be read, if not too many are unanswered."""
        self.unanswered.append(context)
        if len(self.unanswered) >= REQUESTS_MAX:
            self._mute(MuteReason.QUEUE_FULL)
        self._unmute(MuteReason.NOT_PARSED)

    def response_sent(self) -> None:
        """An answer that was sent in parts is whole: the next ones follow."""
        self.partly_sent = False
        self.processor.send_ready(self)

    def responses_left(self) -> None:
        """Answers are gone: read again what too many requests held up, and leave when all is served."""
        if self.reasons & MuteReason.QUEUE_FULL and len(self.unanswered) < REQUESTS_MAX:
            self._unmute(MuteReason.QUEUE_FULL)
        else:
            # A transport that was full may have muted the channel beside all reasons.
            self._unmute(MuteReason.NONE)
        self.forget_when_served()

    def throttle(self, throttle_ms: int) -> None:
        """Do not read for a time. Of several throttles the first that ends unmutes, as there."""
        if self.closed:
            return
        self._mute(MuteReason.THROTTLED)
        timer: list[IDelayedCall] = []

        def end() -> None:
            del self._throttles[timer[0]]
            self._unmute(MuteReason.THROTTLED)

        timer.append(self.acceptor.server.reactor.callLater(throttle_ms / 1000, end))
        self._throttles[timer[0]] = None

    def forget_when_served(self) -> None:
        """A channel whose peer has gone leaves when every request that had come is answered."""
        if not self.unanswered or self.state is ChannelState.CLOSED:
            super().forget_when_served()

    def _end_throttle(self) -> None:
        for timer in self._throttles:
            timer.cancel()
        self._throttles.clear()

    def _mute(self, reason: MuteReason) -> None:
        self.reasons |= reason
        self.mute_state = MuteState.MUTED_AND_RESPONSE_PENDING

    def _unmute(self, reason: MuteReason) -> None:
        self.reasons &= ~reason
        if not self.reasons and self.mute_state is not MuteState.NOT_MUTED and not self.leaving:
            self.mute_state = MuteState.NOT_MUTED
            if self._write_state is not WriteState.GATHERING:
                self.wake()
