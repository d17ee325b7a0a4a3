"""The result of a handler: a response, a Deferred of one, or the reason why nothing is sent. Mirrors
RequestChannel.Response with its kinds.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeAlias

from twisted.internet.defer import Deferred

from protocol_specs.message import Message

__all__ = ["RESPONSES", "RESULTS", "HandlerResult", "NoResponse", "PreparedResponse", "Response"]


class NoResponse(Enum):
    """The reason why a client gets no response message."""

    NO_OP = "nothing is sent"
    """As for acks=0: the channel reads on. Mirrors RequestChannel.NoOpResponse."""
    CLOSE_CONNECTION = "the connection is closed"
    """Mirrors RequestChannel.CloseConnectionResponse; see `RequestContext.disconnect`."""
    STAY_MUTED = "nothing is ever sent"
    """As where Kafka's handler fails while it builds the error response: the channel stays open and muted for good."""
    LOST = "the response is lost"
    """As in a network that has lost it: the connection stays open, and nothing that follows reaches the client."""


PreparedResponse: TypeAlias = bytes
"""A whole response frame."""

Response: TypeAlias = Message | PreparedResponse
RESPONSES: Final = (bytes, Message)
"""The classes of a Response. They are tested before Deferred, whose test is slow because the class is abstract."""

RESULTS: Final = (bytes, Message, NoResponse)
"""The classes of what a handler returns at once."""

HandlerResult: TypeAlias = (
    Response | NoResponse | Deferred[Message] | Deferred[Message | NoResponse] | Deferred[Response | NoResponse]
)
