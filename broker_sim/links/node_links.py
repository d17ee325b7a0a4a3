"""All links of a cluster, for requests between brokers and controllers. In place of NetworkClient and SocketServer
between nodes.

A link is one way: a request travels on link(source, target), its response on link(target, source), in order.
Messages are the protocol's own classes, records travel by reference.

- `hold` keeps messages until `release`.
- `cut` loses the messages on the link and all later ones. A caller that waits for a response notices it as over TCP: by
  its time-out (`timeout_ms` after the loss), or at `restore`, when the old connection is found reset.
- A killed node resets its calls: their callers fail at once, if the way back is open.

On virtual time the links may be attached to the simulated network (`attach_to_network`): the impairments between two of
its hosts apply to their links as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from broker_sim.control.events import LinkChanged
from broker_sim.errors import BrokerSimError
from broker_sim.links.link import Link
from broker_sim.links.link_call import LinkCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.control.journal import Journal
    from sim_runtime.interfaces import IReactor
    from sim_runtime.link import Link as NetworkLink

__all__ = ["CONTROLLER_ID", "LinkFailure", "LinkNode", "NodeLinks"]

CONTROLLER_ID: Final = 3000
"""The node id under which links reach the active controller."""
REQUEST_TIMEOUT_MS: Final = 30_000

_log = Logger()


class LinkFailure(BrokerSimError):
    """A request between nodes got no response: the connection is gone, or the time is up. Never a wire error."""


class LinkNode(Protocol):
    """A node that can be reached over links."""

    def receive_call(self, call: LinkCall) -> None:
        """Serve a request: `call.respond`, now or later."""

    def peer_reset(self, node_id: int) -> None:
        """The connection from another node was reset: that node was killed."""


class NodeLinks:
    """Nodes attach under their id; one that is not attached refuses connections."""

    def __init__(self, *, reactor: IReactor, journal: Journal, delay_ms: float = 0.0) -> None:
        self._reactor = reactor
        self._journal = journal
        self.delay_ms = delay_ms
        self._nodes: dict[int, LinkNode] = {}
        self._known: dict[int, None] = {}
        self._links: dict[tuple[int, int], Link] = {}
        self._calls: dict[LinkCall, None] = {}
        self._lost_calls: dict[LinkCall, None] = {}
        self._next_id = 0
        self._network_link: Callable[[int, int], NetworkLink] | None = None
        self._link_type: type[Link] = Link

    def attach_to_network(
        self, network_link: Callable[[int, int], NetworkLink], link_type: type[Link] | None = None
    ) -> None:
        """Send messages through the simulated network: `network_link(source, target)` is its link between two hosts.

        `link_type` is the type of the links between nodes, by default Link.

        Raises:
            BrokerSimError: A link was used already.
        """
        if self._links:
            raise BrokerSimError("links that were used already cannot be attached to a network")
        self._network_link = network_link
        self._link_type = link_type or Link

    def attach(self, node_id: int, node: LinkNode) -> None:
        """Make `node` reachable under this id."""
        self._nodes[node_id] = node
        self._known[node_id] = None

    def detach(self, node_id: int) -> None:
        """The node is gone: its own calls are forgotten, calls to it fail when the way back is open."""
        self._nodes.pop(node_id, None)
        for link in list(self._links.values()):
            if node_id in (link.source, link.target):
                link.drop_calls_of(node_id)
        for call in list(self._calls):
            if call.source == node_id:
                self._forget(call)
            elif call.target == node_id and call not in self._lost_calls:
                self._fail_over_link(call, "connection reset")
        for other_id, node in list(self._nodes.items()):
            if self.link(node_id, other_id).is_open:
                node.peer_reset(node_id)

    def link(self, source: int, target: int) -> Link:
        """Return the link from one node to another."""
        found = self._links.get((source, target))
        if found is None:
            network_link = None if self._network_link is None else self._network_link(source, target)
            found = self._link_type(self._reactor, source, target, self.delay_ms, self._link_changed, network_link)
            self._links[source, target] = found
        return found

    def unusual_links(self) -> list[Link]:
        """Return the links that have messages in flight, or are held or cut, by source and target."""
        return [link for _, link in sorted(self._links.items()) if link.in_flight or not link.is_open]

    def links_of(self, node_id: int) -> list[Link]:
        """Return both directions between a node and every other node, also one that is down."""
        others = [other for other in self._known if other != node_id]
        return [link for other in others for link in (self.link(node_id, other), self.link(other, node_id))]

    def isolate(self, node_id: int) -> None:
        """Cut the node off from all others, the controller too; `rejoin` ends it."""
        for link in self.links_of(node_id):
            link.cut()

    def rejoin(self, node_id: int) -> None:
        """Restore all links of the node."""
        for link in self.links_of(node_id):
            link.restore()

    def send(
        self, source: int, target: int, request: Any, *, version: int = 0, timeout_ms: int = REQUEST_TIMEOUT_MS
    ) -> Deferred[Any]:
        """Send a request; the Deferred fires with the response, or fails with LinkFailure."""
        responded: Deferred[Any] = Deferred()
        self.call(
            source,
            target,
            request,
            lambda response, _: responded.callback(response),
            lambda failure, _: responded.errback(failure),
            version=version,
            timeout_ms=timeout_ms,
        )
        return responded

    def call(
        self,
        source: int,
        target: int,
        request: Any,
        on_response: Callable[[Any, int], object],
        on_failure: Callable[[Exception, int], object],
        version: int = 0,
        number: int = 0,
        timeout_ms: int = REQUEST_TIMEOUT_MS,
    ) -> None:
        """Send a request. `on_response(response, number)` is called, or `on_failure(link_failure, number)`."""
        self._next_id = call_id = self._next_id + 1
        call = LinkCall(self, call_id, source, target, request, version, timeout_ms, on_response, on_failure, number)
        self._calls[call] = None
        link = self._links.get((source, target)) or self.link(source, target)
        link.transmit(call, self._arrive, request)

    def stop(self) -> None:
        """Forget every call and timer."""
        for call in list(self._calls):
            self._forget(call)
        for link in self._links.values():
            link.hold()

    # The steps of a call.

    def respond(self, call: LinkCall, response: Any) -> None:
        """Send the response of a call back, unless its source has given up."""
        if call in self._calls:
            link = self._links.get((call.target, call.source)) or self.link(call.target, call.source)
            link.transmit(call, self._finish, response)

    def lose(self, call: LinkCall) -> None:
        """A message of a call is lost: the call fails after its time-out."""
        if call in self._calls and call not in self._lost_calls:
            self._lost_calls[call] = None
            call.timer = self._reactor.callLater(call.timeout_ms / 1000, self.fail, call, "request timed out")

    def fail(self, call: LinkCall, reason: str) -> None:
        """Fail a call at its source, at once."""
        if call in self._calls:
            self._forget(call)
            failure = LinkFailure(f"{call.request.NAME} from {call.source} to {call.target}: {reason}")
            call.on_failure(failure, call.number)

    def _arrive(self, call: LinkCall, _request: Any) -> None:
        node = self._nodes.get(call.target)
        if node is None:
            self._fail_over_link(call, "connection refused")
        else:
            node.receive_call(call)

    def _fail_over_link(self, call: LinkCall, reason: str) -> None:
        self.link(call.target, call.source).transmit(call, self.fail, reason)

    def _finish(self, call: LinkCall, response: Any) -> None:
        if call in self._calls:
            del self._calls[call]
            if call.timer is not None:
                self._cancel_timer(call)
            try:
                call.on_response(response, call.number)
            except Exception:  # noqa: BLE001 - an error at the source must not fail the responding node
                _log.failure(
                    "links: unexpected error in the handler of a response request={request} from={source} to={target}",
                    request=call.request.NAME,
                    source=call.source,
                    target=call.target,
                )

    def _forget(self, call: LinkCall) -> None:
        del self._calls[call]
        if call.timer is not None:
            self._cancel_timer(call)

    def _cancel_timer(self, call: LinkCall) -> None:
        self._lost_calls.pop(call, None)
        assert call.timer is not None
        if call.timer.active():
            call.timer.cancel()
        call.timer = None

    def _link_changed(self, link: Link, state: str) -> None:
        self._journal.append(
            LinkChanged(
                time_us=self._journal.now_us(),
                broker_id=link.source,
                target=link.target,
                state=state,
                delay_ms=link.delay_ms,
            )
        )
        if state == "restored":
            pair = {link.source, link.target}
            for call in list(self._lost_calls):
                if pair == {call.source, call.target}:
                    self._reactor.callLater(0, self.fail, call, "connection reset")
