"""A response of a node that follows after its handler has returned: as a Deferred, at a tenth of its cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LateResponse"]


class LateResponse:
    """Fires once, with a response; unlike a Deferred it has one receiver and no errors."""

    # Defaults of the class, because a constructor costs more than the object.
    _context: Any = None
    _response: Any = None
    _send: Callable[[Any, Any], None] | None = None

    def respond(self, response: Any) -> None:
        """Send the response; it waits until a receiver is there."""
        send = self._send
        if send is None:
            self._response = response
        else:
            send(response, self._context)

    def send_with(self, send: Callable[[Any, Any], None], context: Any) -> None:
        """Call `send(response, context)` when there is a response, which may be now."""
        self._send = send
        self._context = context
        if self._response is not None:
            send(self._response, context)
