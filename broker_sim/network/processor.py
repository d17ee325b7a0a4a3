"""The work of a network thread, without the thread: parse, mute, queue; send, unmute. Mirrors SocketServer's Processor.

A request that cannot be read closes its connection, as with Kafka: unknown API key, version that is not served, short
or invalid body. Only ApiVersions gets a response to a version that is not served. The log line names the peer and the
reason.

The Processor is the TCP transport of the RpcServer: `receive` passes a request to its stages, which call `accept` to
pass it to the RequestChannel; `send` and `finish` end it.
"""

from __future__ import annotations

import struct
from functools import partial
from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_sim.apis.handler_result import NoResponse, PreparedResponse
from broker_sim.apis.request_context import RequestContext
from broker_sim.control.events import ConnectionClosed, ConnectionOpened, ThrottleEnded
from broker_sim.metrics.request_metrics import FOLLOWER_BIT, TIMED_ALL, TIMED_ONE_OF, is_follower
from broker_sim.network.idle_connections import IdleConnections, last_active_us
from broker_sim.network.old_requests import read_old_header
from broker_sim.network.partial_response import send_in_parts
from broker_sim.network.request_channel import CallbackRequest
from broker_sim.network.routes import Route, VersionGate
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import FieldNotInVersion, MessageEncodeError, ProtocolError
from protocol_specs.framing import decode_request_header, encode_response, encode_response_frame
from protocol_specs.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_sim.apis.handler_result import HandlerResult, Response
    from broker_sim.network.acceptor import Acceptor
    from broker_sim.network.channel import KafkaChannel
    from broker_sim.network.response_writer import Frame
    from broker_sim.network.sasl_counts import SaslCounts
    from broker_sim.network.socket_server import SocketServer
    from protocol_specs.messages.headers import RequestHeader

__all__ = ["Processor"]

CONNECTION_QUEUE_SIZE: Final = 20
"""The maximum number of new connections that wait for a blocked Processor. Mirrors Processor.ConnectionQueueSize."""

_HEADER: Final = struct.Struct(">Ii")
"""API key and version as one number, correlation id; the length and the text of the client id follow."""
_LENGTH: Final = struct.Struct(">h")
_HEADER_BYTES: Final = _HEADER.size
_SHORTEST_HEADER_BYTES: Final = _HEADER_BYTES + _LENGTH.size

_FETCH: Final = ApiKey.FETCH

_log = Logger()


class Processor:
    """Serves a share of a listener's connections."""

    takes_frames: Final = True
    sasl_counts: SaslCounts | None = None
    """The authentications at a SASL listener."""

    def __init__(self, server: SocketServer, processor_id: int, acceptor: Acceptor) -> None:
        self.server = server
        self.id = processor_id
        self.acceptor = acceptor
        self.channels: dict[KafkaChannel, None] = {}
        self.blocked = False
        """True while a request of this Processor waits for room in the RequestChannel: no other frame is read."""
        self.waiting: dict[KafkaChannel, None] = {}
        """Channels whose frames wait until the Processor is no longer blocked."""
        self.new_connections: dict[KafkaChannel, None] = {}
        """Connections that wait for registration until the Processor is no longer blocked; they are not read."""
        node = server.node
        self._node = node
        self._rpc = node.rpc
        self.handled: Callable[[RequestContext, HandlerResult], None] = node.rpc.respond
        """A handler calls it with the result of a request."""
        self.on_request: Callable[[RequestContext], None] | None = None
        """Called for each request after its header is read."""
        self._journal = node.journal
        behaviour = node.config.behaviour
        self._read_header: Callable[[bytes], tuple[RequestHeader, int]] = decode_request_header
        if not behaviour.api_versions_names_itself:
            self._read_header = partial(
                read_old_header, enabled=node.apis.enabled, versions_are_checked=behaviour.versions_are_checked
            )
        self._ignores = behaviour.unreadable_requests_are_ignored
        self._gate = VersionGate(node.apis.enabled)
        self._routes = self._gate.routes
        self._handler_pool = acceptor.plane.handler_pool
        self._metrics = node.request_metrics
        self._request_counts = node.request_metrics.counts
        self._blocked_us = 0
        self._blocked_since_us = 0
        self.idle_connections = IdleConnections(
            reactor=server.reactor,
            now_us=node.journal.now_us,
            limit_ms=lambda: node.config.connections_max_idle_ms,
            channels=self.channels,
        )

    # Connections.

    @property
    def accepts_connections(self) -> bool:
        """True if an Acceptor may add one more connection."""
        return not self.blocked or len(self.new_connections) < CONNECTION_QUEUE_SIZE

    def add_connection(self, channel: KafkaChannel) -> None:
        """Register a new connection: immediately, or when this Processor is no longer blocked."""
        if self.blocked:
            channel.transport.pauseProducing()
            self.new_connections[channel] = None
        else:
            self._register(channel)

    def _register(self, channel: KafkaChannel) -> None:
        self.channels[channel] = None
        journal = self._journal
        channel.last_active_us = journal.now_us()
        if journal.full:
            info = channel.info
            journal.append(
                ConnectionOpened(
                    time_us=channel.last_active_us,
                    broker_id=self._node.id,
                    connection_id=info.connection_id,
                    listener=info.listener_name,
                    client_host=info.client_host,
                )
            )
        self.idle_connections.watch()

    def forget(self, channel: KafkaChannel) -> None:
        """Remove a closed connection and release its quota."""
        if channel not in self.channels:
            if channel in self.new_connections:
                del self.new_connections[channel]
                self.acceptor.connection_closed(channel)
            return
        del self.channels[channel]
        channel.info.close()
        self.waiting.pop(channel, None)
        journal = self._journal
        if journal.full:
            journal.append(
                ConnectionClosed(
                    time_us=journal.now_us(),
                    broker_id=self._node.id,
                    connection_id=channel.info.connection_id,
                    reason=channel.close_reason,
                    unreadable=channel.unreadable,
                )
            )
        self.acceptor.connection_closed(channel)
        if not self.channels:
            self.idle_connections.stop()

    def refuse(self, channel: KafkaChannel, reason: str) -> None:
        """Close a connection because of what its peer sent. Mirrors Processor.processChannelException."""
        if not channel.closed:
            _log.warn(
                "broker {broker_id}: closing connection {connection_id}: {reason}",
                broker_id=self._node.id,
                connection_id=channel.info.connection_id,
                reason=reason,
            )
            channel.close(reason)

    def refuse_bytes(self, channel: KafkaChannel, reason: str) -> None:
        """Close a connection because the bytes of its peer are no request."""
        channel.unreadable = True
        self.refuse(channel, reason)

    def refuse_request(self, channel: KafkaChannel, reason: str) -> None:
        """Close the connection of an unreadable request; only 0.9 ignores the request and keeps the connection."""
        if self._ignores:
            _log.warn("broker {broker_id}: ignoring a request: {reason}", broker_id=self._node.id, reason=reason)
        else:
            self.refuse_bytes(channel, reason)

    def close_after_error(self, channel: KafkaChannel) -> None:
        """Close a connection because the simulator raised an unexpected exception."""
        connection_id = channel.info.connection_id
        _log.failure("Unexpected error serving {connection_id}", connection_id=connection_id)
        channel.close("an unexpected error")

    # Requests.

    def receive(self, channel: KafkaChannel, frame: bytes) -> None:
        """Read the header of one frame, mute the channel, and pass the request to the stages of the RpcServer."""
        parsed = None
        # Most requests of a connection have the same client id as the previous one. The unpacked tuple is never empty.
        if (
            len(frame) >= _SHORTEST_HEADER_BYTES
            and (numbers := _HEADER.unpack_from(frame))
            and (route := self._routes.get(numbers[0])) is not None
            and frame.startswith(header_end := channel.header_ends[route.tagged], _HEADER_BYTES)
        ):
            correlation_id = numbers[1]
            position = _HEADER_BYTES + len(header_end)
            client_id = channel.client_id
        else:
            parsed = self._parse_header(channel, frame)
            if parsed is None:
                return
            route, position, correlation_id, client_id, _ = parsed
        server = self.server
        server.last_request_id = request_id = server.last_request_id + 1
        received_us = channel.last_active_us = server.iteration_us
        context = RequestContext(
            self._node,
            self,
            channel.info,
            route.api_key,
            route.version,
            correlation_id,
            client_id,
            None,
            request_id,
            received_us,
            frame,
            position,
            channel,
        )
        if parsed is not None:
            context.header_tags = parsed[-1]
        channel.mute_for_request()
        if self.on_request is not None:
            self.on_request(context)
        if self._rpc.on_arrival:
            self._rpc.receive(context)
        elif parsed is None:
            self._accept(context, route)
        else:
            # The first request of an API, or an ApiVersions whose version is not served.
            self.accept(context)

    def _parse_header(
        self, channel: KafkaChannel, frame: bytes
    ) -> tuple[Route, int, int, str | None, Sequence[tuple[int, bytes]]] | None:
        """Return route, end of the header, correlation id, client id, tags of any header; None for a refused one."""
        try:
            header, position = self._read_header(frame)
        except ProtocolError as error:
            self.refuse_request(channel, f"{error}{self._gate.unserved(frame)}")
            return None
        route = self._gate.route_of(header)
        if route is None:
            # 0.9 cannot read the header of an unknown API without a client id: that request is not ignored.
            refuse = self.refuse if header.client_id is None else self.refuse_request
            key, version = header.request_api_key, header.request_api_version
            refuse(channel, f"request api key {key} with version {version} which is not enabled")
            return None
        if channel.on_client_id is not None:
            channel.on_client_id(header.client_id or "")
        if route.key in self._routes:
            _note_client_id(channel, frame, header.client_id)
        return route, position, header.correlation_id, header.client_id, header.unknown_tags

    def accept(self, context: RequestContext) -> None:
        """Decode the body and put the request into the RequestChannel."""
        self._accept(context, self._gate.decoder_of(context))

    def _accept(self, context: RequestContext, route: Route) -> None:
        if not self._decode(context, route):
            return
        key = route.key
        if route.api_key is _FETCH and is_follower(context.request):
            key |= FOLLOWER_BIT
        self._request_counts[key] += 1
        self._handler_pool.offer(context, self)

    def decode(self, context: RequestContext) -> bool:
        """Decode the body and return True; an invalid one closes the connection, and False is returned."""
        return context.request is not None or self._decode(context, self._gate.decoder_of(context))

    def _decode(self, context: RequestContext, route: Route) -> bool:
        if context.request is None:
            try:
                context.request = route.decode(context.frame, context.body_start)[0]
            except ProtocolError as error:
                self._refuse_body(context, error)
                return False
        return True

    def _refuse_body(self, context: RequestContext, error: ProtocolError) -> None:
        channel: KafkaChannel = context.origin
        self.refuse_request(channel, str(error))
        if not channel.closed:
            channel.response_sent()

    # Handlers.

    def release_handler(self, context: RequestContext) -> None:
        """Free the handler that a request has held."""
        self._handler_pool.release(context)

    def run_on_handler(self, context: RequestContext, function: Callable[[], None]) -> None:
        """Run the rest of a request on a handler."""
        self._handler_pool.call_back(CallbackRequest(context=context, function=function))

    # Responses.

    def send(self, context: RequestContext, response: Response) -> None:
        """Write the response; the channel resumes reading when it is sent."""
        frame = response if isinstance(response, PreparedResponse) else self.encode(context, response)
        if frame is None:
            return
        rpc = self._rpc
        on_frame = rpc.on_frame
        if on_frame is not None and send_in_parts(context, frame, on_frame(context)):
            return
        channel: KafkaChannel = context.origin
        if channel.send(frame):
            channel.response_sent()
            if context.request_id <= TIMED_ALL or not context.request_id % TIMED_ONE_OF:
                self._metrics.sent(context, len(frame), 0)
        else:
            channel.unsent = context, len(frame), self._journal.now_us()
        if rpc.on_sent:
            rpc.sent(context, len(frame))

    def finish(self, context: RequestContext, outcome: NoResponse) -> None:
        """End a request without a response."""
        channel: KafkaChannel = context.origin
        if outcome is NoResponse.NO_OP:
            channel.response_sent()
            self._measure(context, 0, 0)
        elif outcome is NoResponse.CLOSE_CONNECTION:
            self.refuse(channel, context.close_reason or "closed by the handler")
        elif outcome is NoResponse.LOST:
            channel.silence()
            channel.response_sent()
        else:
            channel.abandon()

    def fail(self, context: RequestContext) -> None:
        """Close the connection of a request that the simulator could not serve because of an internal error."""
        self.refuse(context.origin, f"no response to {context!r}")

    def throttle(self, context: RequestContext, throttle_ms: int) -> None:
        """Do not read from the client for a time, also after the response is sent (KIP-219)."""
        context.origin.throttle(throttle_ms)

    def throttle_ended(self, channel: KafkaChannel, early: int) -> None:
        """Record the end of a throttle time, and how many requests arrived while it still lasted."""
        journal = self._journal
        if journal.full:
            journal.append(
                ThrottleEnded(
                    time_us=journal.now_us(),
                    broker_id=self._node.id,
                    connection_id=channel.info.connection_id,
                    early=early,
                )
            )

    def encode(self, context: RequestContext, response: Response) -> Frame | None:
        """Return the response's frame; close the connection and return None if the error response fails to encode too.

        Most often a text that repeats a long value does not fit: Kafka then responds with UNKNOWN_SERVER_ERROR. A value
        without a field in the version leads to UNSUPPORTED_VERSION.
        """
        if isinstance(response, PreparedResponse):
            return response
        try:
            return encode_response_frame(response, context.api_version, correlation_id=context.correlation_id)
        except MessageEncodeError as error:
            return self._encode_failure(context, error)

    def _encode_failure(self, context: RequestContext, error: MessageEncodeError) -> bytes | None:
        unknown = isinstance(error, FieldNotInVersion)
        failed = ErrorCode.UNSUPPORTED_VERSION if unknown else ErrorCode.UNKNOWN_SERVER_ERROR
        try:
            response = self._node.apis.error_response(context, failed)
            if isinstance(response, Message):
                return encode_response(response, context.api_version, correlation_id=context.correlation_id)
        except MessageEncodeError as again:
            error = again
        self.refuse(context.origin, f"cannot encode the response to {context!r}: {error}")
        return None

    def complete_send(self, channel: KafkaChannel) -> None:
        """Measure a response that waited in the transport and is now sent, and unmute its channel."""
        unsent, channel.unsent = channel.unsent, None
        if unsent is not None:
            context, size, since_us = unsent
            self._measure(context, size, self._journal.now_us() - since_us)
        channel.response_sent()

    def _measure(self, context: RequestContext, size: int, send_us: int) -> None:
        if context.request_id <= TIMED_ALL or not context.request_id % TIMED_ONE_OF:
            self._metrics.sent(context, size, send_us)

    # Backpressure.

    def block(self) -> None:
        """Stop reading: a request of this Processor waits for room in the RequestChannel."""
        self.blocked = True
        self._blocked_since_us = self._journal.now_us()

    def blocked_us(self) -> int:
        """Return the total time in which this Processor was blocked, and therefore not idle."""
        if not self.blocked:
            return self._blocked_us
        return self._blocked_us + self._journal.now_us() - self._blocked_since_us

    def resume(self) -> None:
        """Serve the waiting channels and register the new ones: the RequestChannel has room again."""
        self._blocked_us = self.blocked_us()
        self.blocked = False
        self._serve_waiting()

    def _serve_waiting(self) -> None:
        if self.new_connections:
            newcomers = list(self.new_connections)
            self.new_connections.clear()
            for channel in newcomers:
                self._register(channel)
                channel.transport.resumeProducing()
        if self.acceptor.waiting:
            self.acceptor.admit_waiting()
        waiting = list(self.waiting)
        self.waiting.clear()
        for channel in waiting:
            channel.wake()

    # Shutdown.

    def close(self, *, abort: bool, reason: str) -> None:
        """Close every connection: with a reset, or after its gathered responses are sent."""
        self.idle_connections.stop()
        for channel in [*self.channels, *self.new_connections]:
            if abort:
                channel.abort(reason)
            else:
                channel.close(reason)

    def close_least_recently_used(self, reason: str) -> bool:
        """Close the least recently used connection; return False if all are already closing."""
        open_channels = [channel for channel in self.channels if not channel.closed]
        if not open_channels:
            return False
        min(open_channels, key=last_active_us).close(reason)
        return True


def _note_client_id(channel: KafkaChannel, frame: bytes, client_id: str | None) -> None:
    (length,) = _LENGTH.unpack_from(frame, _HEADER.size)
    field = frame[_HEADER.size : _SHORTEST_HEADER_BYTES + max(length, 0)]
    channel.header_ends = (field, field + b"\0")
    channel.client_id = client_id
