"""A client's connection through the proxy: frames in, frames out, each request with the rules that fit it.

Requests are passed on in their order, responses too, as Kafka itself orders them per connection: a request that a rule
holds holds those behind it. As a broker serves what has arrived, held requests are passed on when the client has gone.
Back-pressure passes through, because each side is the producer of the other.
"""

# ruff: noqa: N802
# The names are those of Twisted's interfaces.

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IPushProducer
from twisted.internet.protocol import ClientFactory, Protocol, connectionDone
from twisted.logger import Logger
from zope.interface import implementer

from broker_sim.apis.handler_result import NoResponse
from broker_sim.apis.kafka_apis import HANDLERS
from broker_sim.control.events import ConnectionClosed, ConnectionOpened, RequestReceived, ResponseSent
from broker_sim.faults.interception import Outcome, Phase
from broker_sim.rpc.edited_messages import edit_request
from broker_sim.wire_proxy.partition_phases import PartitionPhases
from protocol_specs.errors import FrameError, MessageDecodeError, ProtocolError
from protocol_specs.framing import FrameReader, encode_response, framed
from protocol_specs.fuzzing import mutate_frame
from protocol_specs.message import Kind
from sim_runtime.shaped_transport import ShapedTransport

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from twisted.internet.interfaces import IAddress
    from twisted.python.failure import Failure

    from broker_sim.faults.connections import Shaping
    from broker_sim.faults.interception import Edit, Interception
    from broker_sim.wire_proxy.exchange import Exchange
    from broker_sim.wire_proxy.proxy_listener import ProxyListener
    from protocol_specs.error_codes import ErrorCode

__all__ = ["ClientSide"]

FRAME_LIMIT_BYTES: Final = 1 << 30
"""The size of a frame that a proxy passes; the cluster behind it has its own limit."""

_log = Logger()


class ClientSide(Protocol):
    """The client's side: a ShapedChannel, so that faults of connections apply to it."""

    transport: Any

    def __init__(self, listener: ProxyListener, address: Any) -> None:
        self.client_id: str | None = None
        self.shaping: Shaping | None = None
        self.on_client_id: Callable[[str], None] | None = None
        self.disconnected = False
        self.connection_id = f"{listener.host}:{listener.bound_port}-{address.host}:{address.port}"
        self._listener = listener
        self._proxy = listener.proxy
        self._reader = FrameReader(limit_bytes=FRAME_LIMIT_BYTES, option="the proxy's limit")
        self._upstream: _UpstreamSide | None = None
        self._client_host = str(address.host)
        self._requests: deque[bytes] = deque()
        self._pending: deque[Exchange | None] = deque()
        """The requests whose responses are awaited, in order; None for one that the proxy does not understand."""
        self._responses: deque[tuple[Exchange | None, bytes]] = deque()
        self._request_waits = False
        self._held: list[tuple[Exchange, bytes]] = []
        """The responses that are held to be sent in another order."""
        self._response_waits = False
        self._silent = False
        """A rule has lost a response: no later one is sent."""

    # The faults of connections.

    @property
    def between_frames(self) -> bool:
        """True if the next bytes begin a request."""
        return not self._reader.buffered_bytes

    def shape(self, closed: Callable[[ShapedTransport], None]) -> ShapedTransport:
        """Put a layer under this connection."""
        raw = self.transport
        producer = raw.producer
        shaped = ShapedTransport(self._proxy.reactor, raw, self, closed=closed, full=bool(raw.producerPaused))
        self.transport = shaped
        if producer is not None:
            shaped.registerProducer(producer, True)
        if self._upstream is not None:
            self._upstream.feed(shaped)
        return shaped

    # The client.

    def connectionMade(self) -> None:
        """Connect to the broker; the client's bytes wait until then."""
        self.transport.setTcpNoDelay(True)
        self._record(ConnectionOpened, listener="PROXY", client_host=self._client_host)
        self._listener.connected(self)
        self.transport.pauseProducing()
        host, port = self._listener.target()
        self._proxy.reactor.connectTCP(host, port, _UpstreamFactory(self))

    def dataReceived(self, data: bytes) -> None:
        """Split requests."""
        try:
            self._requests += self._reader.receive(data)
        except FrameError as error:
            self.close(str(error))
            return
        self._serve_requests()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The client has gone."""
        self.disconnected = True
        self._listener.forget(self)
        if self._request_waits:
            self._listener.outlived(self)
        elif self._upstream is not None:
            self._upstream.transport.loseConnection()
        self._record(ConnectionClosed, reason=reason.getErrorMessage())

    def _close_upstream_when_served(self) -> None:
        """Close the broker's side of a client that has gone, once the broker has responded to what had arrived."""
        if self.disconnected and not self._request_waits and not self._pending and self._upstream is not None:
            self._upstream.transport.loseConnection()

    def abort(self) -> None:
        """Reset both sides."""
        self.transport.abortConnection()
        if self.disconnected and self._upstream is not None:
            self._upstream.transport.abortConnection()

    def close(self, reason: str) -> None:
        """Close both sides."""
        del reason
        self._requests.clear()
        self._responses.clear()
        if not self.disconnected:
            self.transport.loseConnection()

    # The broker.

    def upstream_connected(self, upstream: _UpstreamSide) -> None:
        """The broker has accepted."""
        if self.disconnected:
            upstream.transport.loseConnection()
            return
        self._upstream = upstream
        upstream.feed(self.transport)
        self.transport.registerProducer(_Responses(upstream.transport), True)
        self.transport.resumeProducing()

    def upstream_lost(self) -> None:
        """The broker has closed, or does not accept: the client sees the same, after the responses that have come."""
        self._upstream = None
        if self.disconnected:
            self._listener.forget(self)
        if self._responses and self._response_waits:
            self._responses.append((None, b""))
        else:
            self.close("the broker closed the connection")

    # Requests.

    def _serve_requests(self) -> None:
        while self._requests and not self._request_waits:
            frame = self._requests.popleft()
            try:
                exchange = self._proxy.exchange(frame, node_id=self._listener.node_id, connection_id=self.connection_id)
            except (ProtocolError, ValueError):
                self._pending.append(None)
                self._send_upstream(frame)
                continue
            self.client_id = exchange.client_id
            if self.on_client_id is not None:
                self.on_client_id(exchange.client_id or "")
            self._record(
                RequestReceived,
                api=exchange.api_key.api_name,
                api_version=exchange.api_version,
                request_id=exchange.request_id,
                client_id=exchange.client_id,
                size=len(frame),
                correlation_id=exchange.correlation_id,
            )
            interception = self._proxy.intercept(Phase.BEFORE_PARSE, exchange)
            if interception is None or interception.wait is None:
                self._obey_early(exchange, interception)
                continue
            self._request_waits = True
            interception.wait.addCallback(self._request_released, exchange, interception)

    def _request_released(self, _: None, exchange: Exchange, interception: Interception) -> None:
        self._request_waits = False
        self._obey_early(exchange, interception)
        self._serve_requests()
        self._close_upstream_when_served()

    def _obey_early(self, exchange: Exchange, interception: Interception | None) -> None:
        if interception is not None:
            if not _edit(exchange, interception.edits):
                self.close("a fault rule has broken the header")
                return
            outcome = interception.outcome
            if outcome is Outcome.ERROR:
                self._respond_with_error(exchange, interception.error_code)
                return
            if outcome is Outcome.DROP_RESPONSE:
                exchange.response_lost = True
            elif outcome is not Outcome.PROCEED:
                self.close("a fault rule closes the connection")
                return
        exchange.phases = PartitionPhases(self._proxy, exchange)
        if not exchange.phases.wants_request:
            self._pass_on(exchange)
            return
        self._request_waits = True
        decided = Deferred.fromCoroutine(exchange.phases.before_append())
        decided.addCallback(self._decided, exchange).addErrback(self._failed)

    def _decided(self, goes_on: bool, exchange: Exchange) -> None:  # noqa: FBT001 - the result of a Deferred
        self._request_waits = False
        if self.disconnected:
            return
        phases = exchange.phases
        assert phases is not None
        if not goes_on:
            self.close("a fault rule closes the connection")
        elif phases.refused_whole is not None:
            self._respond_with_error(exchange, phases.refused_whole)
        elif phases.nothing_left:
            self._respond(exchange, phases.refusal())
        else:
            self._pass_on(exchange)
        # In the next loop iteration: this one may be in the middle of serving requests.
        self._proxy.reactor.callLater(0, self._serve_requests)

    def _pass_on(self, exchange: Exchange) -> None:
        assert exchange.phases is not None
        exchange.phases.passed_on()
        if exchange.has_response:
            self._pending.append(exchange)
        self._send_upstream(exchange.frame)

    def _respond_with_error(self, exchange: Exchange, error_code: ErrorCode) -> None:
        self._respond(exchange, _error_response(exchange, error_code) if exchange.has_response else b"")

    def _respond(self, exchange: Exchange, response: bytes) -> None:
        """Respond in place of the broker, after the responses that it owes; for acks=0 there is no response."""
        if not exchange.has_response:
            self.close("an error for a request without a response")
            return
        self._pending.append(exchange)
        exchange.own_response = response
        self._take_own_responses()

    def _send_upstream(self, frame: bytes) -> None:
        if self._upstream is not None:
            self._upstream.transport.write(framed(frame))

    # Responses.

    def response_received(self, frame: bytes) -> None:
        """The broker has responded to the oldest request that waits."""
        exchange = self._pending.popleft() if self._pending else None
        self._responses.append((exchange, framed(frame)))
        self._take_own_responses()
        self._serve_responses()
        self._close_upstream_when_served()

    def _take_own_responses(self) -> None:
        while self._pending and self._pending[0] is not None and self._pending[0].own_response is not None:
            exchange = self._pending.popleft()
            assert exchange is not None
            self._responses.append((exchange, exchange.own_response or b""))
        self._serve_responses()

    def _serve_responses(self) -> None:
        while self._responses and not self._response_waits and not self.disconnected:
            exchange, frame = self._responses.popleft()
            if not frame:
                self.close("the broker closed the connection")
                return
            if exchange is None:
                self._send(None, frame)
                continue
            frame = self._proxy.with_own_addresses(exchange, frame)
            if exchange.own_response is None and exchange.phases is not None and exchange.phases.wants_response:
                self._response_waits = True
                handled = Deferred.fromCoroutine(exchange.phases.responded(frame))
                handled.addCallback(self._handled, exchange).addErrback(self._failed)
            else:
                self._complete(exchange, frame)

    def _handled(self, frame: bytes | None, exchange: Exchange) -> None:
        self._response_waits = False
        if self.disconnected:
            return
        if frame is None:
            self.close("a fault rule closes the connection")
            return
        self._complete(exchange, frame)
        # In the next loop iteration: this one may be in the middle of serving responses.
        self._proxy.reactor.callLater(0, self._serve_responses)

    def _failed(self, failure: Failure) -> None:
        _log.failure("proxy: a connection has failed", failure=failure)
        self.close("an error of the proxy")

    def _complete(self, exchange: Exchange, frame: bytes) -> None:
        interception = self._proxy.intercept(Phase.BEFORE_RESPONSE, exchange)
        if interception is None or interception.wait is None:
            self._obey_late(exchange, frame, interception)
            return
        self._response_waits = True
        interception.wait.addCallback(self._response_released, exchange, frame, interception)

    def _response_released(self, _: None, exchange: Exchange, frame: bytes, interception: Interception) -> None:
        self._response_waits = False
        if not self.disconnected:
            self._obey_late(exchange, frame, interception)
            self._serve_responses()

    def _obey_late(self, exchange: Exchange, frame: bytes, interception: Interception | None) -> None:
        if exchange.response_lost:
            self._silent = True
        if interception is not None:
            outcome = interception.outcome
            if outcome is Outcome.DISCONNECT:
                self.close("a fault rule closes the connection")
                return
            if outcome is Outcome.DROP_RESPONSE:
                self._silent = True
            elif outcome is Outcome.ERROR:
                frame = _error_response(exchange, interception.error_code)
            for edit in interception.edits:
                try:
                    frame = mutate_frame(frame, exchange.api_key, Kind.RESPONSE, exchange.api_version, edit.mutations)
                except ProtocolError as error:
                    edit.report_problem(str(error))
            if outcome is Outcome.CUT:
                self._cut(frame, interception.cut_bytes)
                return
        middle = self._proxy.intercept(Phase.MID_RESPONSE, exchange)
        if middle is None or self._silent:
            self._send(exchange, frame)
        elif middle.outcome is not Outcome.PROCEED:
            self._cut(frame, middle.cut_bytes)
        elif middle.reversed_responses:
            self._hold_back(exchange, frame, middle)
        else:
            data = middle.with_copies(frame)
            if middle.wait is None:
                self._send(exchange, data)
            else:
                self.transport.write(data[: middle.cut_bytes])
                self._response_waits = True
                middle.wait.addCallback(self._rest_released, exchange, data[middle.cut_bytes :])

    def _rest_released(self, _: None, exchange: Exchange, rest: bytes) -> None:
        self._response_waits = False
        if not self.disconnected:
            self._send(exchange, rest)
            self._serve_responses()

    def _hold_back(self, exchange: Exchange, frame: bytes, middle: Interception) -> None:
        """Hold a response; the one that completes the number sends all, or the end of the wait those that are there."""
        group = self._held
        group.append((exchange, frame))
        if len(group) >= middle.reversed_responses:
            self._send_reversed(group)
        elif middle.wait is not None:
            middle.wait.addCallback(lambda _: self._send_reversed(group))

    def _send_reversed(self, group: list[tuple[Exchange, bytes]]) -> None:
        if self._held is group and not self.disconnected:
            self._held = []
            for exchange, frame in reversed(group):
                self._send(exchange, frame)

    def _cut(self, frame: bytes, size: int) -> None:
        if not self._silent:
            self.transport.write(frame[:size])
        self.close("a fault rule closes the connection")

    def _send(self, exchange: Exchange | None, frame: bytes) -> None:
        if self._silent:
            return
        self.transport.write(frame)
        if exchange is not None:
            self._record(
                ResponseSent,
                api=exchange.api_key.api_name,
                request_id=exchange.request_id,
                size=len(frame),
                total_us=self._proxy.journal.now_us() - exchange.received_us,
            )

    def _record(self, kind: Any, **values: Any) -> None:
        journal = self._proxy.journal
        if journal.full:
            journal.append(
                kind(
                    time_us=journal.now_us(),
                    broker_id=self._listener.node_id,
                    connection_id=self.connection_id,
                    **values,
                )
            )


class _UpstreamSide(Protocol):
    """The broker's side."""

    transport: Any

    def __init__(self, client: ClientSide) -> None:
        self._client = client
        self._reader = FrameReader(limit_bytes=FRAME_LIMIT_BYTES, option="the proxy's limit")

    def feed(self, client_transport: Any) -> None:
        """Pause this client transport while the broker does not read."""
        self.transport.unregisterProducer()
        self.transport.registerProducer(client_transport, True)

    def connectionMade(self) -> None:
        """Begin to pass requests on."""
        self.transport.setTcpNoDelay(True)
        self._client.upstream_connected(self)

    def dataReceived(self, data: bytes) -> None:
        """Split responses."""
        try:
            frames = self._reader.receive(data)
        except FrameError as error:
            self._client.close(str(error))
            return
        for frame in frames:
            self._client.response_received(frame)

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: ARG002
        """The broker has closed."""
        self._client.upstream_lost()


@implementer(IPushProducer)
class _Responses:
    """The broker's side as the producer of the client's; ClientSide ends it, for held requests outlive the client."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport

    def pauseProducing(self) -> None:
        """Read nothing from the broker."""
        self._transport.pauseProducing()

    def resumeProducing(self) -> None:
        """Read on."""
        self._transport.resumeProducing()

    def stopProducing(self) -> None:
        """Do nothing: the client has gone."""


class _UpstreamFactory(ClientFactory):
    noisy = False

    def __init__(self, client: ClientSide) -> None:
        self._client = client

    def buildProtocol(self, addr: IAddress | None) -> Protocol:  # noqa: ARG002
        """Make the broker's side."""
        return _UpstreamSide(self._client)

    def clientConnectionFailed(self, connector: Any, reason: Failure) -> None:  # noqa: ARG002
        """The broker does not accept: nor does the proxy."""
        _log.warn("proxy: cannot connect to the broker: {reason}", reason=reason.getErrorMessage())
        self._client.upstream_lost()


def _edit(exchange: Exchange, edits: Sequence[Edit]) -> bool:
    """Change a request; False if its header cannot be read any more."""
    context: Any = exchange
    for edit in edits:
        try:
            edit_request(context, edit.mutations)
        except MessageDecodeError:
            return False
        except ProtocolError as error:
            edit.report_problem(str(error))
    return True


def _error_response(exchange: Exchange, error_code: ErrorCode) -> bytes:
    """Return the frame of the API's response for a request that fails as a whole; empty for none."""
    request = exchange.parsed()
    context: Any = exchange
    handler = HANDLERS.handler_of(exchange.api_key)
    response = handler.error_response(request, context, error_code)
    if isinstance(response, NoResponse):
        return b""
    return encode_response(response, exchange.api_version, correlation_id=exchange.correlation_id)
