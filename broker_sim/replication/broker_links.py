"""What brokers and controller say to each other, in memory, over links that can be slow, held or cut.

A link is one way: the request travels on link(source, target), its response on link(target, source); each keeps its
order. On an idle link without delay a message is delivered by a plain call. The stand-in for NetworkClient and
SocketServer between brokers; messages are the protocol's own classes, records travel by reference.

- `hold` keeps messages until `release`; nobody notices but by the time that passes.
- `cut` loses what is on the link and all that follows. Who waits for an answer learns of it as over TCP: by its
  time-out (`timeout_ms` after the loss), or at `restore`, when the old connection is found reset.
- a node that dies resets its calls: who waits for its answer is told at once, if the way back is open.

On virtual time the links may cross the simulated network too (`cross`): what holds between two of its hosts holds for
their links as well, as if each broker's client were told its nodes by hand (ManualMetadataUpdater) and had one
connection to each.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final, Protocol

from twisted.internet.defer import Deferred

from broker_sim.control.events import LinkChanged, RequestReceived, ResponseSent
from broker_sim.errors import BrokerSimError
from broker_sim.faults.interception import FaultPoint, Outcome, Phase
from protocol_specs.framing import encode_request, encode_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall
    from twisted.python.failure import Failure

    from broker_sim.control.journal import Journal
    from broker_sim.faults.interception import Faults
    from broker_sim.replication.replica_fetcher import ReplicaFetcher
    from protocol_specs.message import Message
    from sim_runtime.interfaces import IReactor
    from sim_runtime.link import Link as NetworkLink

CONTROLLER_ID: Final = 3000
"""The node id of the controller quorum's leader, as links know it."""
REQUEST_TIMEOUT_MS: Final = 30_000


class LinkFailure(BrokerSimError):
    """A request between nodes got no answer: the connection is gone, or the time is up. Never a wire error."""


class Node(Protocol):
    """Who can be asked over a link."""

    def handle_link_request(self, request: Any, source: int) -> Any:
        """Answer a message, or a Deferred of it."""

    def peer_reset(self, node_id: int) -> None:
        """The connection from another node was reset: it has died."""

    def replica_fetcher(self, leader_id: int) -> ReplicaFetcher | None:
        """What replicates from a leader here, if anything does."""


class Link:
    """One direction between two nodes; `delay_ms` holds for messages that are sent from now on.

    `way` is what they cross of the simulated network, if anything: it delays, holds and cuts as well.
    """

    __slots__ = (
        "_changed",
        "_own_cut",
        "_own_hold",
        "_queue",
        "_reactor",
        "_timer",
        "_way",
        "cut_off",
        "delay_ms",
        "held",
        "source",
        "target",
    )

    def __init__(
        self,
        reactor: IReactor,
        source: int,
        target: int,
        delay_ms: float,
        changed: Callable[[Link, str], None],
        way: NetworkLink | None = None,
    ) -> None:
        self._reactor = reactor
        self._changed = changed
        self._way = way
        self._own_cut = self._own_hold = False
        self._queue: deque[tuple[float, _Call, Callable[[], None]]] = deque()
        self._timer: IDelayedCall | None = None
        self.source = source
        self.target = target
        self.delay_ms = delay_ms
        self.held = False
        self.cut_off = False

    @property
    def is_open(self) -> bool:
        """Whether a message that is sent now would arrive some time by itself."""
        return not (self.held or self.cut_off)

    @property
    def is_plain(self) -> bool:
        """Whether a message that is sent now arrives within the call."""
        return self._way is None and not (self.held or self.cut_off or self._queue) and self.delay_ms <= 0

    @property
    def in_flight(self) -> int:
        """How many messages are on the link."""
        return len(self._queue)

    def hold(self) -> None:
        """Keep every message, those on their way too, until `release`."""
        self._own_hold = True
        self._settle()

    def release(self) -> None:
        """Deliver what was held, in order, and what comes."""
        self._own_hold = False
        self._settle()

    def cut(self) -> None:
        """Lose every message, those on their way too, until `restore`."""
        self._own_cut = True
        self._settle()

    def restore(self) -> None:
        """Deliver messages again; the calls that lost one fail now."""
        self._own_cut = False
        self._settle()

    def stall(self) -> None:
        """The network between the two is held or cut."""
        self._settle()

    def resume(self) -> None:
        """The network between the two is open again."""
        self._settle()

    def _settle(self) -> None:
        """Find out whether anything holds or cuts the link now, and act on what is new."""
        was_held, was_cut = self.held, self.cut_off
        way = self._way
        self.held = self._own_hold or (way is not None and way.is_held)
        self.cut_off = self._own_cut or (way is not None and way.is_cut)
        if self.held and not was_held:
            self._changed(self, "held")
        if self.cut_off and not was_cut:
            lost = list(self._queue)
            self._queue.clear()
            self._changed(self, "cut")
            for _, call, _ in lost:
                call.lost()
        if was_held and not self.held:
            self._changed(self, "released")
            self._schedule()
        if was_cut and not self.cut_off:
            self._changed(self, "restored")

    def set_delay(self, delay_ms: float) -> None:
        """Let messages take `delay_ms` from now on; none overtakes an earlier one."""
        self.delay_ms = delay_ms
        self._changed(self, "delayed")

    def transmit(self, call: _Call, deliver: Callable[[], None], message: Message | None = None) -> None:
        """Bring one message of `call` across: `deliver` is called at its arrival, unless it is lost."""
        if self.cut_off:
            call.lost()
            return
        way = self._way
        if way is None and not self._queue and not self.held and self.delay_ms <= 0:
            deliver()
            return
        due = self._reactor.seconds() + self.delay_ms / 1000
        if way is not None:
            now_us = round(self._reactor.seconds() * 1e6)
            size = 0 if way.bandwidth_bytes_per_s is None or message is None else call.size_of(message)
            due += (way.arrival_us(now_us, size) - now_us) / 1e6
        if self._queue and self._queue[-1][0] > due:
            due = self._queue[-1][0]
        self._queue.append((due, call, deliver))
        self._schedule()

    def drop_calls_of(self, node: int) -> None:
        """Forget the messages of calls that `node` takes part in."""
        self._queue = deque(entry for entry in self._queue if node not in entry[1].ends)

    def _schedule(self) -> None:
        if self._timer is None and self._queue and not self.held:
            delay_s = max(0.0, self._queue[0][0] - self._reactor.seconds())
            self._timer = self._reactor.callLater(delay_s, self._deliver_due)

    def _deliver_due(self) -> None:
        self._timer = None
        due = self._reactor.seconds() + 5e-7
        try:
            while self._queue and not self.held and self._queue[0][0] <= due:
                self._queue.popleft()[2]()
        finally:
            self._schedule()


class _Call:
    """One request and its answer."""

    __slots__ = ("deferred", "ends", "id", "links", "request", "started_at_s", "timeout_ms", "timer", "version")

    def __init__(
        self, links: BrokerLinks, number: int, source: int, target: int, request: Any, version: int, timeout_ms: int
    ) -> None:
        self.links = links
        self.id = number
        self.ends = (source, target)
        self.request = request
        self.version = version
        self.deferred: Deferred[Any] = Deferred()
        self.timeout_ms = timeout_ms
        self.timer: IDelayedCall | None = None
        self.started_at_s = 0.0

    def size_of(self, message: Message) -> int:
        """How long the frame is that carries the request or its answer."""
        if message is self.request:
            return len(encode_request(message, self.version, correlation_id=self.id, client_id=None))
        return len(encode_response(message, self.version, correlation_id=self.id))

    def lost(self) -> None:
        self.links._lost(self)  # noqa: SLF001 - call and links are one part


class BrokerLinks:
    """All links of a cluster. Nodes attach under their id; a node that is not attached refuses connections."""

    def __init__(self, *, reactor: IReactor, journal: Journal, faults: Faults, delay_ms: float = 0.0) -> None:
        self._reactor = reactor
        self._journal = journal
        self.faults = faults
        self.delay_ms = delay_ms
        self._nodes: dict[int, Node] = {}
        self._known: dict[int, None] = {}
        self._links: dict[tuple[int, int], Link] = {}
        self._calls: dict[_Call, None] = {}
        self._lost_calls: dict[_Call, None] = {}
        self._next_id = 0
        self._way: Callable[[int, int], NetworkLink] | None = None

    def cross(self, way: Callable[[int, int], NetworkLink]) -> None:
        """Let messages cross the simulated network: `way(source, target)` is its link between two nodes' hosts."""
        if self._links:
            raise BrokerSimError("links that were used already cannot cross another network")
        self._way = way

    def attach(self, node_id: int, node: Node) -> None:
        """Let `node` be asked under this id."""
        self._nodes[node_id] = node
        self._known[node_id] = None

    def detach(self, node_id: int) -> None:
        """The node is gone: its own calls are forgotten, calls to it fail when the way back is open."""
        self._nodes.pop(node_id, None)
        for link in list(self._links.values()):
            if node_id in (link.source, link.target):
                link.drop_calls_of(node_id)
        for call in list(self._calls):
            source, target = call.ends
            if source == node_id:
                self._forget(call)
            elif target == node_id and call not in self._lost_calls:
                back = self.link(target, source)
                back.transmit(call, lambda call=call: self._fail(call, "connection reset"))  # type: ignore[misc]
        for other_id, node in list(self._nodes.items()):
            if self.link(node_id, other_id).is_open:
                node.peer_reset(node_id)

    def link(self, source: int, target: int) -> Link:
        """The link from one node to another."""
        found = self._links.get((source, target))
        if found is None:
            way = None if self._way is None else self._way(source, target)
            found = Link(self._reactor, source, target, self.delay_ms, self._link_changed, way)
            if way is not None:
                way.add(found)
                found.stall()
            self._links[source, target] = found
        return found

    def plain_node(self, source: int, target: int) -> Node | None:
        """The target, when what passes between the two would arrive at once and unseen; else None."""
        if self._journal.full or self.faults.active:
            return None
        if self.link(source, target).is_plain and self.link(target, source).is_plain:
            return self._nodes.get(target)
        return None

    def links_of(self, node_id: int) -> list[Link]:
        """Both directions between a node and every other node, also one that is down."""
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
        """Ask `target`; the Deferred fires with its answer or fails with LinkFailure. `version` is for the journal."""
        self._next_id += 1
        call = _Call(self, self._next_id, source, target, request, version, timeout_ms)
        self._calls[call] = None
        self.link(source, target).transmit(call, lambda: self._arrive(call), request)
        return call.deferred

    def stop(self) -> None:
        """Forget every call and timer."""
        for call in list(self._calls):
            self._forget(call)
        for link in self._links.values():
            link.hold()

    # A call's way ------------------------------------------------------------------------------------------

    def _arrive(self, call: _Call) -> None:
        source, target = call.ends
        node = self._nodes.get(target)
        if node is None:
            self.link(target, source).transmit(call, lambda: self._fail(call, "connection refused"))
            return
        if self._journal.full:
            self._note_arrival(call)
        if self.faults.active and self._intercept(call, Phase.BEFORE_PARSE, lambda: self._apply(call), None):
            return
        self._apply(call)

    def _apply(self, call: _Call) -> None:
        if self.faults.active and self._intercept(call, Phase.BEFORE_APPEND, lambda: self._serve(call), None):
            return
        self._serve(call)

    def _serve(self, call: _Call) -> None:
        if call not in self._calls:
            return
        source, target = call.ends
        node = self._nodes.get(target)
        if node is None:
            return  # it died meanwhile, and `detach` has told the caller
        answer = node.handle_link_request(call.request, source)
        if isinstance(answer, Deferred):
            answer.addCallback(lambda response: self._answer(call, response))
        else:
            self._answer(call, answer)

    def _answer(self, call: _Call, response: Any) -> None:
        if call not in self._calls:
            return
        if self.faults.active and self._intercept(
            call, Phase.BEFORE_RESPONSE, lambda: self._respond(call, response), response
        ):
            return
        self._respond(call, response)

    def _respond(self, call: _Call, response: Any) -> None:
        if call not in self._calls:
            return
        source, target = call.ends
        if self._journal.full:
            self._note_answer(call)
        self.link(target, source).transmit(call, lambda: self._finish(call, response), response)

    def _finish(self, call: _Call, response: Any) -> None:
        if call in self._calls:
            self._forget(call)
            call.deferred.callback(response)

    def _fail(self, call: _Call, reason: str) -> None:
        if call in self._calls:
            self._forget(call)
            source, target = call.ends
            call.deferred.errback(LinkFailure(f"{call.request.NAME} from {source} to {target}: {reason}"))

    def _forget(self, call: _Call) -> None:
        self._calls.pop(call, None)
        self._lost_calls.pop(call, None)
        if call.timer is not None and call.timer.active():
            call.timer.cancel()
        call.timer = None

    def _lost(self, call: _Call) -> None:
        if call in self._calls and call not in self._lost_calls:
            self._lost_calls[call] = None
            call.timer = self._reactor.callLater(call.timeout_ms / 1000, self._fail, call, "request timed out")

    # Faults and journal --------------------------------------------------------------------------------------

    def _intercept(self, call: _Call, phase: Phase, go_on: Callable[[], None], response: Any) -> bool:
        source, target = call.ends
        api_key = call.request.API_KEY
        interception = self.faults.intercept(
            phase,
            FaultPoint(
                broker_id=target,
                api_key=api_key,
                client_id=f"broker-{source}",
                connection_id=_connection_id(source, target),
                request_id=call.id,
                replica_id=source,
            ),
        )
        if interception is None:
            return False

        def obey(_: None = None) -> None:
            if call not in self._calls:
                return
            outcome = interception.outcome
            if outcome is Outcome.PROCEED:
                go_on()
            elif outcome is Outcome.DROP_RESPONSE:
                if response is None:
                    self._serve_and_lose(call)
                else:
                    call.lost()
            elif outcome is Outcome.ERROR and hasattr(response, "error_code"):
                response.error_code = interception.error_code
                go_on()
            else:
                self._fail(call, "connection reset by a fault rule")

        if interception.wait is None:
            obey()
        else:
            interception.wait.addCallback(obey)
        return True

    def _serve_and_lose(self, call: _Call) -> None:
        node = self._nodes.get(call.ends[1])
        call.lost()
        if node is not None:
            answer = node.handle_link_request(call.request, call.ends[0])
            if isinstance(answer, Deferred):
                answer.addErrback(_swallow)

    def _note_arrival(self, call: _Call) -> None:
        source, target = call.ends
        call.started_at_s = self._reactor.seconds()
        self._journal.append(
            RequestReceived(
                time_us=self._journal.now_us(),
                broker_id=target,
                api=call.request.NAME,
                api_version=call.version,
                request_id=call.id,
                connection_id=_connection_id(source, target),
                client_id=f"broker-{source}",
                replica_id=source,
            )
        )

    def _note_answer(self, call: _Call) -> None:
        source, target = call.ends
        self._journal.append(
            ResponseSent(
                time_us=self._journal.now_us(),
                broker_id=target,
                api=call.request.NAME,
                request_id=call.id,
                connection_id=_connection_id(source, target),
                total_us=round((self._reactor.seconds() - call.started_at_s) * 1e6),
            )
        )

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
                if pair == set(call.ends):
                    self._reactor.callLater(0, self._fail, call, "connection reset")


def _connection_id(source: int, target: int) -> str:
    return f"link:{source}-{target}"


def _swallow(_: Failure) -> None:
    """The answer was lost on purpose; so is its failure."""
