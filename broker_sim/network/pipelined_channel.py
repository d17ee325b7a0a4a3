"""A connection with many requests in the broker, whose responses keep their order. Mirrors AutoMQ's ChannelContext.

It is muted while REQUESTS_MAX requests are pending, and for a throttle time. A request whose parsing a fault rule
delays mutes it too. Kafka's table of mute states is not used, because more than one request is pending.
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
"""The number of pending requests that mutes a connection. Mirrors MaxInflightRequestsPerConnection."""


class MuteReason(IntFlag):
    """The reasons for which a channel is not read."""

    NONE = 0
    THROTTLED = 1
    QUEUE_FULL = 2
    NOT_PARSED = 4


class PipelinedChannel(KafkaChannel):
    """`pending` holds its requests in order; `ready` the responses that wait for those of earlier requests."""

    processor: PipelinedProcessor

    def __init__(self, acceptor: Acceptor, info: ConnectionInfo, *, limit_bytes: int) -> None:
        super().__init__(acceptor, info, limit_bytes=limit_bytes)
        self.handler = -1
        """The number of the handler that serves this channel; -1 before its first request."""
        self.pending: deque[RequestContext] = deque()
        self.ready: dict[RequestContext, Response | NoResponse] = {}
        self.partly_sent = False
        """True while a fault rule has sent only a part of a response: the next response waits for the rest."""
        self.in_transport: list[tuple[RequestContext, int, int]] = []
        """Responses that wait in the transport: the request, the response's size, the start of the wait."""
        self.reasons = MuteReason.NONE
        self._throttles: dict[IDelayedCall, None] = {}

    def mute_for_request(self) -> None:
        """Mute the channel until the request that has arrived is queued."""
        self._mute(MuteReason.NOT_PARSED)

    def request_queued(self, context: RequestContext) -> None:
        """Note a request that goes to its handler; mute the channel if REQUESTS_MAX requests are pending."""
        self.pending.append(context)
        if len(self.pending) >= REQUESTS_MAX:
            self._mute(MuteReason.QUEUE_FULL)
        self._unmute(MuteReason.NOT_PARSED)

    def response_sent(self) -> None:
        """Send the next responses: the one that was sent in parts is complete."""
        self.partly_sent = False
        self.processor.send_ready(self)

    def responses_sent(self) -> None:
        """Responses are sent: unmute a channel that had too many requests, remove one whose peer has disconnected."""
        if self.reasons & MuteReason.QUEUE_FULL and len(self.pending) < REQUESTS_MAX:
            self._unmute(MuteReason.QUEUE_FULL)
        else:
            # A full transport may have muted the channel without any of the reasons.
            self._unmute(MuteReason.NONE)
        self.forget_when_served()

    def throttle(self, throttle_ms: int) -> None:
        """Do not read for a time. Of several throttles the first one that ends unmutes, as in AutoMQ."""
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
        """Remove a disconnected channel once every request that has arrived has its response."""
        if not self.pending or self.state is ChannelState.CLOSED:
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
        if not self.reasons and self.mute_state is not MuteState.NOT_MUTED and not self.in_transport:
            self.mute_state = MuteState.NOT_MUTED
            if self._write_state is not WriteState.GATHERING:
                self.wake()
