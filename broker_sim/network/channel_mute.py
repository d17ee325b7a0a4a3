"""When a channel reads and when it is muted. Mirrors KafkaChannel.ChannelMuteState and ChannelMuteEvent.

A connection has at most one request in the broker: the Processor mutes the channel when it takes a request and
unmutes it when the response is sent, so requests of one connection are served one by one and in order although
many handlers serve the queue. When a quota is violated (KIP-219) the broker sends the response first and keeps the
channel muted for the throttle time. The throttle may end before or after the response is sent, hence the two throttled
states. Only a channel that is plain MUTED may be unmuted.

Kafka mutes and unmutes by methods that are not events of its table; here MUTE and UNMUTE are events too.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

from sim_runtime.state_table import StateTable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TABLE", "TRANSITIONS", "MuteEvent", "MuteState"]


class MuteState(IntEnum):
    """The mute states of a channel. Mirrors ChannelMuteState."""

    NOT_MUTED = 0
    """The channel reads; none of its requests is in the broker."""
    MUTED = 1
    """The channel does not read; no reason remains, so the next event unmutes it."""
    MUTED_AND_RESPONSE_PENDING = 2
    """A request is in the broker; its response is not sent yet."""
    MUTED_AND_THROTTLED = 3
    """The response is sent; the throttle time has not ended."""
    MUTED_AND_THROTTLED_AND_RESPONSE_PENDING = 4
    """A quota is violated: the throttle time has not ended and the response is not sent yet."""


class MuteEvent(IntEnum):
    """The events that change a channel's mute state. Mirrors ChannelMuteEvent."""

    MUTE = 0
    REQUEST_RECEIVED = 1
    RESPONSE_SENT = 2
    THROTTLE_STARTED = 3
    THROTTLE_ENDED = 4
    UNMUTE = 5


TRANSITIONS: Final[Mapping[tuple[MuteState, MuteEvent], MuteState]] = {
    (MuteState.NOT_MUTED, MuteEvent.MUTE): MuteState.MUTED,
    (MuteState.MUTED, MuteEvent.REQUEST_RECEIVED): MuteState.MUTED_AND_RESPONSE_PENDING,
    (MuteState.MUTED, MuteEvent.UNMUTE): MuteState.NOT_MUTED,
    (MuteState.MUTED_AND_RESPONSE_PENDING, MuteEvent.RESPONSE_SENT): MuteState.MUTED,
    (
        MuteState.MUTED_AND_RESPONSE_PENDING,
        MuteEvent.THROTTLE_STARTED,
    ): MuteState.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING,
    (MuteState.MUTED_AND_THROTTLED, MuteEvent.THROTTLE_ENDED): MuteState.MUTED,
    (
        MuteState.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING,
        MuteEvent.RESPONSE_SENT,
    ): MuteState.MUTED_AND_THROTTLED,
    (
        MuteState.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING,
        MuteEvent.THROTTLE_ENDED,
    ): MuteState.MUTED_AND_RESPONSE_PENDING,
}

TABLE: Final = StateTable("ChannelMuteState", TRANSITIONS)
