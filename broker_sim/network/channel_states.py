"""The life of a connection, and how its responses leave. Mirrors what KafkaChannel, Selector and Processor keep of it.

A channel whose peer has gone is kept until the requests that had arrived are served; one that the broker closes is kept
until the transport says that it is gone.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from sim_runtime.state_table import StateTable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CHANNEL_TABLE", "CHANNEL_TRANSITIONS", "ChannelEvent", "ChannelState", "WriteState"]


class ChannelState(Enum):
    """Who has ended the connection, if anyone."""

    OPEN = auto()
    ABANDONED = auto()
    """A request in the broker will never get a response: nothing more is served, the connection stays."""
    CLOSING = auto()
    """The broker has closed it; the transport has not said that it is gone."""
    PEER_GONE = auto()
    """The peer has gone; requests that had arrived may still be served."""
    CLOSED = auto()
    """Gone, and nothing of it is served."""


class ChannelEvent(Enum):
    """What changes a channel's state."""

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
    """Where the next response of a channel goes."""

    DIRECT = auto()
    """Into the transport, at once."""
    GATHERING = auto()
    """Beside the other responses to the requests that arrived together: they leave in one write."""
    BLOCKED = auto()
    """Nowhere yet: the transport still holds the last one."""
