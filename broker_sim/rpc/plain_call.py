"""The transport of a plain call: a request by reference, without a connection and without a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from twisted.internet.defer import Deferred

from broker_sim.apis.broker_view import BrokerView
from broker_sim.apis.handler_result import NoResponse
from broker_sim.apis.request_context import ConnectionInfo, RequestContext

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.apis.handler_result import Response
    from broker_sim.rpc.rpc_server import RpcServer

__all__ = ["PlainCalls"]

CONNECTION_ID: Final = "call"


class CallNode(BrokerView, Protocol):
    """A broker or controller that serves calls."""

    rpc: RpcServer


class PlainCalls:
    """Calls to one node."""

    takes_frames: Final = False

    def __init__(self, node: CallNode) -> None:
        self._node = node
        self._rpc = node.rpc
        self._next_id = 0

    def call(
        self, request: Any, version: int, *, client_id: str | None = None, client_host: str = "127.0.0.1"
    ) -> Deferred[Response | NoResponse]:
        """Serve a request; fires with its response, or with the reason why there is none."""
        return self.serve(self.context(request, version, client_id=client_id, client_host=client_host))

    def serve(self, context: RequestContext) -> Deferred[Response | NoResponse]:
        """Serve a request as `call` does."""
        self._rpc.receive(context)
        responded: Deferred[Response | NoResponse] = context.origin
        return responded

    def context(
        self, request: Any, version: int, *, client_id: str | None = None, client_host: str = "127.0.0.1"
    ) -> RequestContext:
        """Return the context of a request that is not served yet; its `origin` is the Deferred of the response."""
        self._next_id += 1
        return RequestContext(
            self._node,
            self,
            ConnectionInfo(connection_id=CONNECTION_ID, client_host=client_host),
            request.API_KEY,
            version,
            self._next_id,
            client_id,
            request,
            self._next_id,
            self._node.journal.now_us(),
            origin=Deferred(),
        )

    def accept(self, context: RequestContext) -> None:
        """Serve the request immediately."""
        self._rpc.respond(context, self._rpc.handle(context))

    def decode(self, context: RequestContext) -> bool:  # noqa: ARG002 - as every transport
        """Do nothing: the request is an object."""
        return True

    def send(self, context: RequestContext, response: Response) -> None:
        """Return the response to the caller."""
        self._rpc.sent(context, 0)
        context.origin.callback(response)

    def finish(self, context: RequestContext, outcome: NoResponse) -> None:
        """Return the reason why there is no response."""
        context.origin.callback(outcome)

    def fail(self, context: RequestContext) -> None:
        """Return the result that closes a client's connection."""
        context.origin.callback(NoResponse.CLOSE_CONNECTION)

    def throttle(self, context: RequestContext, throttle_ms: int) -> None:
        """Do nothing: the caller does as it likes."""

    def release_handler(self, context: RequestContext) -> None:
        """Do nothing: no handler of a pool is occupied."""

    def run_on_handler(self, context: RequestContext, function: Callable[[], None]) -> None:  # noqa: ARG002
        """Run it."""
        function()
