"""A network thread's work without the thread: parse, mute, enqueue; answer, unmute. Mirrors SocketServer's Processor.

A request that cannot be understood closes its connection, as with Kafka: unknown API key, version that is not served,
short or impossible body. ApiVersions alone answers a version that it does not know. The log line names the peer and
the reason.
"""

from __future__ import annotations

import struct
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from broker_sim.apis.prepared_response import PreparedResponse
from broker_sim.apis.request_context import NoAnswer, RequestContext
from broker_sim.control.events import ConnectionClosed, ConnectionOpened, RequestReceived, ResponseSent
from broker_sim.metrics.request_metrics import TIMED_ALL, TIMED_ONE_OF
from broker_sim.network import fault_stage
from broker_sim.network.old_requests import read_old_header
from broker_sim.network.routes import Route, route_of
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import FieldNotInVersion, MessageEncodeError, ProtocolError
from protocol_specs.framing import decode_request_header, encode_response
from protocol_specs.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall

    from broker_sim.apis.request_context import HandlerResult, Response
    from broker_sim.network.acceptor import Acceptor
    from broker_sim.network.channel import KafkaChannel
    from broker_sim.network.socket_server import SocketServer
    from protocol_specs.messages.headers import RequestHeader

__all__ = ["Processor"]


CONNECTION_QUEUE_SIZE: Final = 20
"""So many new connections wait for a blocked Processor, as Processor.ConnectionQueueSize."""

POLL_MS: Final = 300
"""How long a Processor waits in its Selector when nothing happens."""

_RESPONSES: Final = (PreparedResponse, Message)
_HEADER: Final = struct.Struct(">Ii")
"""API key and version in one, correlation id; what follows is the client id, its length first."""
_LENGTH: Final = struct.Struct(">h")
_SHORTEST_HEADER_BYTES: Final = _HEADER.size + _LENGTH.size

_api_keys: Final = {int(key): key for key in ApiKey}
_log = Logger()


class Processor:
    """A share of the listener's connections."""

    def __init__(self, server: SocketServer, processor_id: int, acceptor: Acceptor) -> None:
        self.server = server
        self.id = processor_id
        self.acceptor = acceptor
        self.handler_pool = acceptor.plane.handler_pool
        self.channels: dict[KafkaChannel, None] = {}
        self.blocked = False
        """A request of this Processor waits for room in the RequestChannel; nothing else is taken meanwhile."""
        self.waiting: dict[KafkaChannel, None] = {}
        """Channels with frames that a blocked Processor has not taken."""
        self.new_connections: dict[KafkaChannel, None] = {}
        """Connections that a blocked Processor has not registered: nobody reads them."""
        self._broker = server.broker
        self._enabled = server.broker.apis.enabled
        behaviour = server.broker.config.behaviour
        self._read_header: Callable[[bytes], tuple[RequestHeader, int]] = decode_request_header
        if not behaviour.api_versions_names_itself:
            self._read_header = partial(
                read_old_header, enabled=self._enabled, versions_are_checked=behaviour.versions_are_checked
            )
        self._ignores = behaviour.unreadable_requests_are_ignored
        self._request_channel = acceptor.plane.request_channel
        self._quotas = server.broker.apis.quotas
        self._metrics = server.broker.apis.request_metrics
        self._counts = self._metrics.counts
        self._blocked_us = 0
        self._blocked_since_us = 0
        self._expiry: IDelayedCall | None = None
        self.expired = 0
        """How many connections were closed because they were idle."""
        self._routes: dict[int, Route] = {}
        """By API key (upper 16 bits) and version, what was served here before."""

    # Connections.

    @property
    def accepts_connections(self) -> bool:
        """Whether an Acceptor may hand over one more."""
        return not self.blocked or len(self.new_connections) < CONNECTION_QUEUE_SIZE

    def accept(self, channel: KafkaChannel) -> None:
        """Take a new connection: at once, or when this Processor is no longer blocked."""
        if self.blocked:
            channel.transport.pauseProducing()
            self.new_connections[channel] = None
        else:
            self._register(channel)

    def _register(self, channel: KafkaChannel) -> None:
        self.channels[channel] = None
        journal = self._broker.journal
        channel.last_active_us = journal.now_us()
        if journal.full:
            info = channel.info
            journal.append(
                ConnectionOpened(
                    time_us=channel.last_active_us,
                    broker_id=self._broker.id,
                    connection_id=info.connection_id,
                    listener=info.listener_name,
                    client_host=info.client_host,
                )
            )
        self._watch_idle()

    def forget(self, channel: KafkaChannel) -> None:
        """A connection is gone and served: release its quota."""
        if channel not in self.channels:
            if channel in self.new_connections:
                del self.new_connections[channel]
                self.acceptor.connection_closed(channel)
            return
        del self.channels[channel]
        channel.info.closed = True
        self.waiting.pop(channel, None)
        journal = self._broker.journal
        if journal.full:
            journal.append(
                ConnectionClosed(
                    time_us=journal.now_us(),
                    broker_id=self._broker.id,
                    connection_id=channel.info.connection_id,
                    reason=channel.close_reason,
                )
            )
        self.acceptor.connection_closed(channel)
        if not self.channels and self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None

    def refuse(self, channel: KafkaChannel, reason: str) -> None:
        """Close a connection because of what its peer sent. Mirrors Processor.processChannelException."""
        if not channel.closed:
            _log.warn(
                "broker {broker_id}: closing connection {connection_id}: {reason}",
                broker_id=self._broker.id,
                connection_id=channel.info.connection_id,
                reason=reason,
            )
            channel.close(reason)

    def refuse_request(self, channel: KafkaChannel, reason: str) -> None:
        """A request is cut short, or unknown: the connection closes. Only 0.9 goes on as if nothing had come."""
        if self._ignores:
            _log.warn("broker {broker_id}: ignoring a request: {reason}", broker_id=self._broker.id, reason=reason)
        else:
            self.refuse(channel, reason)

    def fail(self, channel: KafkaChannel) -> None:
        """Close a connection because an exception of ours came out while it was served."""
        connection_id = channel.info.connection_id
        _log.failure("Unexpected error serving {connection_id}", connection_id=connection_id)
        channel.close("an unexpected error")

    # Requests.

    def receive(self, channel: KafkaChannel, frame: bytes) -> None:
        """Take one frame: header, version gate, body, then on to the RequestChannel; the channel is muted."""
        if len(frame) < _SHORTEST_HEADER_BYTES:
            self._receive_unusual(channel, frame)
            return
        api_key_and_version, correlation_id = _HEADER.unpack_from(frame)
        route = self._routes.get(api_key_and_version)
        # Most requests of a connection have the client id of the one before.
        known = frame.startswith(channel.client_id_field, _HEADER.size) or _note_client_id(channel, frame)
        position = _HEADER.size + len(channel.client_id_field)
        if route is None or not known:
            self._receive_unusual(channel, frame)
            return
        if route.tagged:
            if position == len(frame) or frame[position]:
                self._receive_unusual(channel, frame)
                return
            position += 1
        broker = self._broker
        if broker.faults.active:
            context = self._context(channel, frame, route, correlation_id, channel.client_id)
            channel.mute_for_request()
            fault_stage.before_parse(self, context, frame, position)
            return
        try:
            request = route.decode(frame, position)[0]
        except ProtocolError as error:
            self.refuse_request(channel, str(error))
            return
        context = self._context(channel, frame, route, correlation_id, channel.client_id, request)
        if broker.journal.full:
            self._record_request(context)
        channel.mute_for_request()
        if api_key_and_version >> 16 == ApiKey.FETCH:
            self._metrics.received(route.api_key, route.version, request)
        else:
            counts = self._counts
            counts[api_key_and_version] = counts.get(api_key_and_version, 0) + 1
        self._request_channel.send_request(context, self)

    def _receive_unusual(self, channel: KafkaChannel, frame: bytes) -> None:
        """Any frame: one that is refused, the first of its API and version, a header with tags."""
        try:
            header, position = self._read_header(frame)
        except ProtocolError as error:
            self.refuse_request(channel, str(error))
            return
        version = header.request_api_version
        api_key = _api_keys.get(header.request_api_key)
        enabled = None if api_key is None else self._enabled.get(api_key)
        if api_key is None or enabled is None or (version not in enabled and api_key != ApiKey.API_VERSIONS):
            # The part of 0.9 that looks for newer APIs takes no header without a client id.
            refuse = self.refuse if header.client_id is None else self.refuse_request
            refuse(channel, f"request api key {header.request_api_key} with version {version} which is not enabled")
            return
        route = route_of(api_key, version)
        if version in enabled and (api_key, version) != (
            ApiKey.CONTROLLED_SHUTDOWN,
            0,
        ):  # whose header has no client id
            self._routes[api_key << 16 | version] = route
        context = self._context(channel, frame, route, header.correlation_id, header.client_id)
        if header.unknown_tags:
            context.header_tags = header.unknown_tags
        if self._broker.faults.active:
            channel.mute_for_request()
            fault_stage.before_parse(self, context, frame, position)
        else:
            self.parse(context, frame, position)

    def _context(
        self,
        channel: KafkaChannel,
        frame: bytes,
        route: Route,
        correlation_id: int,
        client_id: str | None,
        request: Message | None = None,
    ) -> RequestContext:
        server = self.server
        server.last_request_id += 1
        channel.last_active_us = server.turn_us
        return RequestContext(
            self._broker,
            channel.info,
            route.api_key,
            route.version,
            correlation_id,
            client_id,
            request,
            server.last_request_id,
            server.turn_us,
            len(frame),
            channel,
        )

    def parse(self, context: RequestContext, frame: bytes, position: int) -> None:
        """Decode the body and pass the request on."""
        channel = context.channel
        assert channel is not None
        version = context.api_version
        if version in self._enabled[context.api_key]:
            try:
                context.request = route_of(context.api_key, version).decode(frame, position)[0]
            except ProtocolError as error:
                self.refuse_request(channel, str(error))
                return
        else:
            # Only ApiVersions comes here: it is answered in the oldest layout, which every client reads.
            context.api_version = 0
        if self._broker.journal.full:
            self._record_request(context)
        channel.mute_for_request()
        self._metrics.received(context.api_key, context.api_version, context.request)
        self._request_channel.send_request(context, self)

    # Responses.

    def answer(self, context: RequestContext, result: HandlerResult) -> None:
        """Take what a handler returned: now or, for a Deferred, when it fires."""
        if isinstance(result, _RESPONSES) and not self._broker.faults.active:
            self.send_message(context, result)
        elif isinstance(result, Deferred):
            context.local_done_us = self._broker.journal.now_us()
            result.addCallback(self._answer_later, context)
            result.addErrback(self._failed, context)
        elif self._broker.faults.active and not isinstance(result, NoAnswer):
            fault_stage.before_response(self, context, result)
        else:
            self.send_response(context, result)

    def send_response(self, context: RequestContext, result: Response | NoAnswer) -> None:
        """Write the response; the channel reads on when it is gone."""
        if isinstance(result, NoAnswer):
            self._no_answer(context, result)
        else:
            self.send_message(context, result)

    def send_message(self, context: RequestContext, response: Response) -> None:
        """Write a response message."""
        channel = context.channel
        assert channel is not None
        broker = self._broker
        if self._quotas.active:
            response = self._quotas.throttle(context, response)
        frame = self.encode(context, response)
        if frame is None or (broker.faults.active and fault_stage.mid_response(context, frame)):
            return
        if channel.send(frame):
            channel.response_sent()
            if context.request_id <= TIMED_ALL or not context.request_id % TIMED_ONE_OF:
                self._metrics.answered(context, len(frame))
        else:
            channel.unsent = context, len(frame), broker.journal.now_us()
        if broker.journal.full:
            self._record_response(context, len(frame))

    def encode(self, context: RequestContext, response: Response) -> bytes | None:
        """The response's frame; None, and the connection closed, when not even an error's fits the version.

        What does not fit is most often a text that repeats a long value: Kafka answers that the request has failed. A
        value that the version has no field for is an unsupported version.
        """
        if isinstance(response, PreparedResponse):
            return response
        try:
            return encode_response(response, context.api_version, correlation_id=context.correlation_id)
        except MessageEncodeError as error:
            return self._encode_failure(context, error)

    def _encode_failure(self, context: RequestContext, error: MessageEncodeError) -> bytes | None:
        unknown = isinstance(error, FieldNotInVersion)
        failed = ErrorCode.UNSUPPORTED_VERSION if unknown else ErrorCode.UNKNOWN_SERVER_ERROR
        try:
            response = self._broker.apis.error_response(context.request, context, failed)
            if isinstance(response, Message):
                return encode_response(response, context.api_version, correlation_id=context.correlation_id)
        except MessageEncodeError as again:
            error = again
        assert context.channel is not None
        self.refuse(context.channel, f"cannot encode the response to {context!r}: {error}")
        return None

    def complete_send(self, channel: KafkaChannel) -> None:
        """A response that had to wait in the transport is gone."""
        unsent, channel.unsent = channel.unsent, None
        if unsent is not None:
            context, size, since_us = unsent
            if context.request_id <= TIMED_ALL or not context.request_id % TIMED_ONE_OF:
                self._metrics.answered(context, size, self._broker.journal.now_us() - since_us)
        channel.response_sent()

    def block(self) -> None:
        """A request of this Processor waits for room in the RequestChannel."""
        self.blocked = True
        self._blocked_since_us = self._broker.journal.now_us()

    def blocked_us(self) -> int:
        """How long this Processor has been blocked in all: the time in which it was not idle."""
        if not self.blocked:
            return self._blocked_us
        return self._blocked_us + self._broker.journal.now_us() - self._blocked_since_us

    def resume(self) -> None:
        """The RequestChannel has room again: serve the channels that waited, register the new ones."""
        self._blocked_us = self.blocked_us()
        self.blocked = False
        self._go_on()

    def _go_on(self) -> None:
        if self.new_connections:
            newcomers = list(self.new_connections)
            self.new_connections.clear()
            for channel in newcomers:
                self._register(channel)
                channel.transport.resumeProducing()
        if self.acceptor.waiting:
            self.acceptor.go_on()
        waiting = list(self.waiting)
        self.waiting.clear()
        for channel in waiting:
            channel.wake()

    def close(self, *, abort: bool, reason: str) -> None:
        """Close every connection: reset, or after what is answered is sent."""
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        for channel in [*self.channels, *self.new_connections]:
            if abort:
                channel.abort(reason)
            else:
                channel.close(reason)

    def close_least_recently_used(self, reason: str) -> bool:
        """Close the connection that has been idle longest; whether there was one that is not closing already."""
        open_channels = [channel for channel in self.channels if not channel.closed]
        if not open_channels:
            return False
        min(open_channels, key=_last_active_us).close(reason)
        return True

    def _answer_later(self, result: Response | NoAnswer, context: RequestContext) -> None:
        context.remote_done_us = self._broker.journal.now_us()
        if context.channel is not None:
            context.channel.last_active_us = context.remote_done_us
        self.answer(context, result)

    def _failed(self, failure: Any, context: RequestContext) -> None:
        _log.failure("Unexpected error answering {context!r}", failure=failure, context=context)
        assert context.channel is not None
        self.refuse(context.channel, f"no answer to {context!r}")

    def _no_answer(self, context: RequestContext, result: NoAnswer) -> None:
        channel = context.channel
        assert channel is not None
        if result is NoAnswer.NO_RESPONSE:
            if self._quotas.active:
                self._quotas.throttle_without_answer(context)
            channel.response_sent()
            if context.request_id <= TIMED_ALL or not context.request_id % TIMED_ONE_OF:
                self._metrics.answered(context, 0)
        elif result is NoAnswer.CLOSE_CONNECTION:
            self.refuse(channel, context.close_reason or "as the handler asked")
        else:
            channel.abandoned = True
            channel.forget_when_served()

    # Idle connections.

    def _watch_idle(self, pause_us: int = 0) -> None:
        """Look again when the connection that has been idle longest expires, if it stays idle; not before a pause."""
        limit_ms = self._broker.config.connections_max_idle_ms
        if self._expiry is None and limit_ms >= 0 and self.channels:
            idle_since_us = min(channel.last_active_us for channel in self.channels)
            delay_us = idle_since_us + limit_ms * 1000 - self._broker.journal.now_us()
            self._expiry = self.server.reactor.callLater(max(pause_us, delay_us) / 1_000_000, self._close_idle)

    def _close_idle(self) -> None:
        """Close the least recently used if it is idle for connections.max.idle.ms: one a poll, as Kafka's Selector.

        Mirrors Selector.maybeCloseOldestConnection. Where nothing happens a poll ends after POLL_MS.
        """
        self._expiry = None
        limit_ms = self._broker.config.connections_max_idle_ms
        now_us = self._broker.journal.now_us()
        oldest = min(self.channels, key=_last_active_us)
        if oldest.last_active_us > now_us - limit_ms * 1000:
            self._watch_idle()
            return
        oldest.close(f"idle for {limit_ms} ms (connections.max.idle.ms)")
        oldest.last_active_us = now_us
        self.expired += 1
        self._watch_idle(POLL_MS * 1000)

    # Journal.

    def _record_request(self, context: RequestContext) -> None:
        self._broker.journal.append(
            RequestReceived(
                time_us=context.received_us,
                broker_id=self._broker.id,
                api=ApiKey.of(context.api_key).api_name,
                api_version=context.api_version,
                request_id=context.request_id,
                connection_id=context.connection.connection_id,
                client_id=context.client_id,
                size=context.size_bytes,
                replica_id=getattr(context.request, "replica_id", -1),
                correlation_id=context.correlation_id,
            )
        )

    def _record_response(self, context: RequestContext, size: int) -> None:
        journal = self._broker.journal
        now_us = journal.now_us()
        local_done = context.local_done_us if context.local_done_us >= 0 else now_us
        remote_done = context.remote_done_us if context.remote_done_us >= 0 else local_done
        journal.append(
            ResponseSent(
                time_us=now_us,
                broker_id=self._broker.id,
                api=ApiKey.of(context.api_key).api_name,
                request_id=context.request_id,
                connection_id=context.connection.connection_id,
                size=size,
                queue_us=context.dequeued_us - context.received_us,
                local_us=local_done - context.dequeued_us,
                remote_us=remote_done - local_done,
                response_queue_us=now_us - remote_done,
                total_us=now_us - context.received_us,
            )
        )


def _note_client_id(channel: KafkaChannel, frame: bytes) -> bool:
    """Keep the client id of a request's header, unless the frame ends before it does."""
    (length,) = _LENGTH.unpack_from(frame, _HEADER.size)
    end = _SHORTEST_HEADER_BYTES + max(length, 0)
    if end > len(frame):
        return False
    channel.client_id_field = frame[_HEADER.size : end]
    channel.client_id = str(frame[_SHORTEST_HEADER_BYTES:end], "utf-8", "replace") if length >= 0 else None
    return True


def _last_active_us(channel: KafkaChannel) -> int:
    return channel.last_active_us
