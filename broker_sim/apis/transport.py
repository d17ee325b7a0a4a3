"""The transports of requests and responses: TCP, a link between nodes, or a plain call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.apis.handler_result import NoResponse, Response
    from broker_sim.apis.request_context import RequestContext

__all__ = ["Transport"]


class Transport(Protocol):
    """The interface of a transport. Mirrors the part of SocketServer.Processor that RequestChannel uses."""

    @property
    def takes_frames(self) -> bool:
        """True if a whole response frame may be sent in place of a message."""

    def accept(self, context: RequestContext) -> None:
        """Accept a request that may be served: decode its body and pass it to a handler."""

    def decode(self, context: RequestContext) -> bool:
        """Set `context.request` if it is not set; False when the body cannot be decoded and the client was refused."""

    def send(self, context: RequestContext, response: Response) -> None:
        """Send a response."""

    def finish(self, context: RequestContext, outcome: NoResponse) -> None:
        """End a request without a response."""

    def fail(self, context: RequestContext) -> None:
        """End a request without a response after an error of the simulator, which is already logged."""

    def throttle(self, context: RequestContext, throttle_ms: int) -> None:
        """Read nothing from the client for a time (KIP-219)."""

    def release_handler(self, context: RequestContext) -> None:
        """Free the handler that was occupied beyond its handler function's return."""

    def run_on_handler(self, context: RequestContext, function: Callable[[], None]) -> None:
        """Run the rest of a request on a handler, before requests that wait. Mirrors wrapAsyncCallback."""
