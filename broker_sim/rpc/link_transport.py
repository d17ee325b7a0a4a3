"""The transport between nodes: a call over a link becomes a request of the target's spine. Replaces the SocketServer of
the inter-broker listener.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from broker_sim.apis.handler_result import NoResponse
from broker_sim.apis.request_context import ConnectionInfo, RequestContext
from broker_sim.rpc.fault_stage import CLOSED_BY_RULE

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.apis.broker_view import BrokerView
    from broker_sim.apis.handler_result import Response
    from broker_sim.control.journal import Journal
    from broker_sim.links.link_call import LinkCall
    from broker_sim.rpc.rpc_server import RpcServer

__all__ = ["LinkTransport"]


_Peer: TypeAlias = tuple[ConnectionInfo, str]
"""The connection of another node, and its client id."""


class LinkRequest(RequestContext):
    """A request that came by reference: it has no frame, and occupies no handler."""

    frame = b""
    body_start = 0
    access = None
    handler_held = False
    append_hook = None

    def __init__(
        self, node: BrokerView, transport: LinkTransport, peer: _Peer, call: LinkCall, received_us: int
    ) -> None:
        self.broker = node
        self.transport = transport
        self.connection, self.client_id = peer
        self.request = request = call.request
        self.api_key = request.API_KEY
        self.api_version = call.version
        self.correlation_id = self.request_id = call.id
        self.received_us = self.dequeued_us = received_us
        self.origin = call
        self.replica_id = call.source


class LinkTransport:
    """Serves the calls to one node. Handlers are plain functions here: no slot of a pool is occupied."""

    takes_frames: Final = False

    def __init__(
        self, node: BrokerView, rpc: RpcServer, *, journal: Journal, peer_reset: Callable[[int], None]
    ) -> None:
        self._node = node
        self._rpc = rpc
        self._now_us = journal.now_us
        self._peers: dict[int, _Peer] = {}
        self.peer_reset = peer_reset

    def receive_call(self, call: LinkCall) -> None:
        """Serve a request from another node."""
        peer = self._peers.get(call.source) or self._add_peer(call)
        context = LinkRequest(self._node, self, peer, call, self._now_us())
        rpc = self._rpc
        if rpc.on_arrival:
            rpc.receive(context)
        else:
            rpc.respond(context, rpc.handle(context))

    def _add_peer(self, call: LinkCall) -> _Peer:
        source = call.source
        connection = ConnectionInfo(connection_id=f"link:{source}-{call.target}", client_host="", principal=None)
        peer = self._peers[source] = connection, f"broker-{source}"
        return peer

    def accept(self, context: RequestContext) -> None:
        """Serve the request immediately."""
        self._rpc.respond(context, self._rpc.handle(context))

    def decode(self, context: RequestContext) -> bool:  # noqa: ARG002 - as every transport
        """Do nothing: requests travel by reference."""
        return True

    def send(self, context: RequestContext, response: Response) -> None:
        """Send the response back."""
        call: LinkCall = context.origin
        if context.cut_bytes >= 0:
            call.reset(CLOSED_BY_RULE)
            return
        rpc = self._rpc
        if rpc.on_sent:
            rpc.sent(context, 0)
        call.owner.respond(call, response)

    def finish(self, context: RequestContext, outcome: NoResponse) -> None:
        """Lose the response, or close the connection."""
        call: LinkCall = context.origin
        if outcome is NoResponse.CLOSE_CONNECTION:
            call.reset(context.close_reason or "closed by the handler")
        else:
            call.lose()

    def fail(self, context: RequestContext) -> None:
        """Close the connection."""
        context.origin.reset("the request has failed")

    def throttle(self, context: RequestContext, throttle_ms: int) -> None:
        """Do nothing: nodes have no quotas."""

    def release_handler(self, context: RequestContext) -> None:
        """Do nothing: no handler of a pool is occupied."""

    def run_on_handler(self, context: RequestContext, function: Callable[[], Any]) -> None:  # noqa: ARG002
        """Run it."""
        function()
