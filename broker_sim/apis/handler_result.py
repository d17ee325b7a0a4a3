"""The result of a handler: a response, a late one, a Deferred of one, or the reason why nothing is sent. Mirrors
RequestChannel.Response with its kinds. `when_all` waits for the results of a request's parts.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from twisted.internet.defer import Deferred, gatherResults, succeed

from broker_sim.links.late_response import LateResponse
from protocol_specs.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "RESPONSES",
    "RESULTS",
    "HandlerResult",
    "LateResponse",
    "NoResponse",
    "PreparedResponse",
    "Response",
    "when_all",
]

T = TypeVar("T")
R = TypeVar("R")


class NoResponse(Enum):
    """The reason why a client gets no response message."""

    NO_OP = "nothing is sent"
    """The channel resumes reading, as for acks=0. Mirrors RequestChannel.NoOpResponse."""
    CLOSE_CONNECTION = "the connection is closed"
    """Mirrors RequestChannel.CloseConnectionResponse; see `RequestContext.disconnect`."""
    STAY_MUTED = "nothing is ever sent"
    """The channel stays open and muted, as when Kafka's handler fails while it builds the error response."""
    LOST = "the response is lost"
    """The network loses the response: the connection stays open, and no later response reaches the client."""


PreparedResponse: TypeAlias = bytes
"""A whole response frame."""

Response: TypeAlias = Message | PreparedResponse
RESPONSES: Final = (bytes, Message)
"""The classes of a Response. They are tested before Deferred, whose test is slow because the class is abstract."""

RESULTS: Final = (bytes, Message, NoResponse, LateResponse)
"""The classes of a HandlerResult that is no Deferred."""

HandlerResult: TypeAlias = (
    Response
    | NoResponse
    | LateResponse
    | Deferred[Message]
    | Deferred[Message | NoResponse]
    | Deferred[Response | NoResponse]
)


def when_all(results: Sequence[T | Deferred[T]], respond: Callable[[list[T]], R]) -> R | Deferred[R]:
    """Return `respond` of the results of all parts, in their order; a Deferred of it if one is not there yet."""
    for result in results:
        if isinstance(result, Deferred):
            break
    else:
        return respond(results)  # type: ignore[arg-type]  # none of them is a Deferred
    waiting = [result if isinstance(result, Deferred) else succeed(result) for result in results]
    return gatherResults(waiting).addCallback(respond)
