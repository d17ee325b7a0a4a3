"""The states of a connection, and of its writes. Mirrors the state that KafkaChannel, Selector and Processor keep.

A channel whose peer has disconnected is kept until the requests that have arrived are served. A channel that the broker
closes is kept until the transport reports the end of the connection.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from sim_runtime.state_table import StateTable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CHANNEL_TABLE", "CHANNEL_TRANSITIONS", "ChannelEvent", "ChannelState", "WriteState"]


class ChannelState(Enum):
    """The states of a connection: open, or ended by the broker, by the peer or by both."""

    OPEN = auto()
    ABANDONED = auto()
    """A request in the broker never gets a response: no further request is served, the connection stays open."""
    CLOSING = auto()
    """The broker has closed the connection; the transport has not reported its end yet."""
    PEER_GONE = auto()
    """The peer has disconnected; requests that have arrived may still be served."""
    CLOSED = auto()
    """The connection has ended and no request of it is served."""


class ChannelEvent(Enum):
    """The events that change a channel's state."""

    ABANDON = auto()
    CLOSE = auto()
    PEER_LOST = auto()


_S, _E = ChannelState, ChannelEvent
CHANNEL_TRANSITIONS: Final[Mapping[tuple[ChannelState, ChannelEvent], ChannelState]] = {
    (_S.OPEN, _E.ABANDON): _S.ABANDONED,
    (_S.OPEN, _E.CLOSE): _S.CLOSING,
    (_S.OPEN, _E.PEER_LOST): _S.PEER_GONE,
    (_S.ABANDONED, _E.ABANDON): _S.ABANDONED,
    (_S.ABANDONED, _E.CLOSE): _S.CLOSING,
    (_S.ABANDONED, _E.PEER_LOST): _S.CLOSED,
    (_S.CLOSING, _E.ABANDON): _S.CLOSING,
    (_S.CLOSING, _E.PEER_LOST): _S.CLOSED,
    (_S.PEER_GONE, _E.ABANDON): _S.CLOSED,
    (_S.PEER_GONE, _E.CLOSE): _S.CLOSED,
    (_S.CLOSED, _E.ABANDON): _S.CLOSED,
}
CHANNEL_TABLE: Final = StateTable("ChannelState", CHANNEL_TRANSITIONS)


class WriteState(Enum):
    """The destination of a channel's next response."""

    DIRECT = auto()
    """The response is written to the transport immediately."""
    GATHERING = auto()
    """The response joins those of other requests that arrived together: one write sends them all."""
    BLOCKED = auto()
    """The transport still holds the last response; the channel waits for it."""
