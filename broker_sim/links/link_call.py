"""One request over a link and its response, which comes back over the opposite link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from protocol_specs.framing import encode_request, encode_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall

__all__ = ["CallOwner", "LinkCall"]


class CallOwner(Protocol):
    """The events that end a call."""

    def respond(self, call: LinkCall, response: Any) -> None:
        """Send the response of a call back."""

    def lose(self, call: LinkCall) -> None:
        """A message of a call is lost."""

    def fail(self, call: LinkCall, reason: str) -> None:
        """Fail a call at its source, at once."""


class LinkCall:
    """Ends with `on_response(response, number)` or `on_failure(link_failure, number)`.

    `number` is the source's own, for its callbacks. `version` is that of both messages.
    """

    __slots__ = (
        "id",
        "number",
        "on_failure",
        "on_response",
        "owner",
        "request",
        "source",
        "target",
        "timeout_ms",
        "timer",
        "version",
    )

    def __init__(
        self,
        owner: CallOwner,
        call_id: int,
        source: int,
        target: int,
        request: Any,
        version: int,
        timeout_ms: int,
        on_response: Callable[[Any, int], object],
        on_failure: Callable[[Exception, int], object],
        number: int,
    ) -> None:
        self.owner = owner
        self.id = call_id
        self.source = source
        self.target = target
        self.request = request
        self.version = version
        self.timeout_ms = timeout_ms
        self.on_response = on_response
        self.on_failure = on_failure
        self.number = number
        self.timer: IDelayedCall | None = None

    def respond(self, response: Any) -> None:
        """Send the response back; nothing happens when the source has given up."""
        self.owner.respond(self, response)

    def lose(self) -> None:
        """A message of the call is lost: its source waits for `timeout_ms`, or until the link is restored."""
        self.owner.lose(self)

    def reset(self, reason: str) -> None:
        """Fail the call at its source, as a connection does that is closed by the target."""
        self.owner.fail(self, reason)

    def size_of(self, payload: Any) -> int:
        """Return the size of the frame of the request or the response, in bytes; 0 for a reset, which has none."""
        if isinstance(payload, str):
            return 0
        if payload is self.request:
            return len(encode_request(payload, self.version, correlation_id=self.id, client_id=None))
        return len(encode_response(payload, self.version, correlation_id=self.id))
