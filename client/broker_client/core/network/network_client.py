"""Requests to nodes and their responses, over connections that are made, checked and closed here.

Mirrors NetworkClient.
Not for more than one thread. `poll` is one turn: metadata first, then what the selector has, then time-outs, then
callbacks.
KIP-35 and KIP-511 (API versions), KIP-219 (throttling), KIP-601 (set-up time-out), KIP-899 (re-bootstrap).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from broker_client.core.network.api_versions import ApiVersions, decode_versions
from broker_client.core.network.channel_builder import PLAINTEXT_CHANNELS
from broker_client.core.network.cluster_connection_states import NEVER_MS, ClusterConnectionStates
from broker_client.core.network.in_flight_requests import ClientResponse, Delivery, InFlightRequest, InFlightRequests
from broker_client.core.network.kafka_channel import ChannelState
from broker_client.core.network.metadata_updater import MetadataUpdater
from broker_client.core.network.old_requests import metadata_request_for
from broker_client.core.network.selector import NetworkReceive, Selector
from broker_client.core.network.version_checks import PROBE, layout_of
from broker_client.core.network.version_negotiation import VersionNegotiation
from broker_client.errors import IllegalState, ProducerError, UnsupportedVersion
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import MessageDecodeError, MessageEncodeError
from protocol_specs.framing import decode_response, encode_request
from protocol_specs.messages.api_versions import ApiVersionsResponse
from protocol_specs.messages.metadata import MetadataRequest, MetadataResponse
from protocol_specs.registry import response_type

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from broker_client.core.metrics.registry import Sensor
    from broker_client.core.network.channel_builder import ClientChannels
    from broker_client.core.network.cluster import Node
    from broker_client.core.network.metadata import Metadata
    from broker_client.core.telemetry.telemetry_sender import TelemetrySender
    from broker_client.errors import AuthenticationFailed
    from protocol_specs.message import Message
    from sim_runtime.interfaces import IReactor

__all__ = ["NetworkClient", "NetworkClientConfig"]

# The highest eight are reserved: SASL recognizes the responses to its own requests by them.
_CORRELATION_ID_MAX: Final = 2**31 - 9
_CORRELATION_ID_MIN: Final = -(2**31)
_log = Logger()


@dataclass(slots=True, kw_only=True, frozen=True)
class NetworkClientConfig:
    """The client configurations that connections obey, under their own names."""

    client_id: str
    request_timeout_ms: int = 30_000
    max_in_flight_requests_per_connection: int = 5
    connections_max_idle_ms: int = 540_000
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    socket_connection_setup_timeout_ms: int = 10_000
    socket_connection_setup_timeout_max_ms: int = 30_000
    send_buffer_bytes: int = 131_072
    receive_buffer_bytes: int = 32_768
    rebootstrap: bool = True
    rebootstrap_trigger_ms: int = 300_000
    channel_builder: ClientChannels = PLAINTEXT_CHANNELS


class NetworkClient:
    """`on_event` is called when a poll would find something: new results, or room for a request that did not fit."""

    def __init__(
        self,
        *,
        config: NetworkClientConfig,
        metadata: Metadata,
        reactor: IReactor,
        random: random.Random,
        on_event: Callable[[], None],
        api_versions: ApiVersions | None = None,
    ) -> None:
        self.config = config
        self.metadata = metadata
        self.api_versions = ApiVersions() if api_versions is None else api_versions
        self.selector = Selector(
            reactor=reactor,
            max_idle_ms=config.connections_max_idle_ms,
            on_event=on_event,
            channel_builder=config.channel_builder.for_client(config.client_id, random),
        )
        self.connection_states = ClusterConnectionStates(
            reconnect_backoff_ms=config.reconnect_backoff_ms,
            reconnect_backoff_max_ms=config.reconnect_backoff_max_ms,
            setup_timeout_ms=config.socket_connection_setup_timeout_ms,
            setup_timeout_max_ms=config.socket_connection_setup_timeout_max_ms,
            random=random,
        )
        self.next_poll_ms = NEVER_MS
        self.time_out_ms = NEVER_MS
        """When the first of what was there since the latest poll is given up: the sockets are read before that poll."""
        self.completed = 0
        self.throttle_time: Sensor | None = None
        self.telemetry: TelemetrySender | None = None
        self._completed_internally = False
        self._gave_up = False
        self._random = random
        self._in_flight = InFlightRequests(config.max_in_flight_requests_per_connection)
        self._updater = MetadataUpdater(
            metadata=metadata,
            transport=self,
            request_timeout_ms=config.request_timeout_ms,
            reconnect_backoff_ms=config.reconnect_backoff_ms,
            rebootstrap=config.rebootstrap,
            rebootstrap_trigger_ms=config.rebootstrap_trigger_ms,
        )
        self._versions = VersionNegotiation(
            api_versions=self.api_versions,
            connection_states=self.connection_states,
            selector=self.selector,
            in_flight=self._in_flight,
            send=self._send_internal,
        )
        self._aborted_sends: list[tuple[ClientResponse, Callable[[ClientResponse], None]]] = []
        self._ended: list[tuple[ClientResponse, Callable[[ClientResponse], None]]] = []
        self._correlation_id = 0
        self._closed = False

    def ready(self, node: Node, now_ms: int) -> bool:
        """True if a request can be sent now; begins a connection when there is none and one may begin."""
        if self.is_ready(node.id, now_ms):
            return True
        if self.connection_states.can_connect(node.id, now_ms):
            self.initiate_connect(node, now_ms)
        return False

    def is_ready(self, node_id: int, now_ms: int) -> bool:
        """As `ready`, without connecting. While a metadata update is due, no node is ready."""
        return not self._updater.is_update_due(now_ms) and self.can_send_request(node_id, now_ms)

    def send(
        self,
        node_id: int,
        request: Message,
        now_ms: int,
        *,
        callback: Callable[[ClientResponse], None],
        expect_response: bool = True,
        timeout_ms: int | None = None,
        highest_version: int | None = None,
    ) -> int:
        """Send to a ready node and return the correlation id; a later poll calls `callback` with the result."""
        if not self.can_send_request(node_id, now_ms):
            raise IllegalState(f"attempt to send a request to node {node_id}, which is not ready")
        return self._send(node_id, request, now_ms, callback, expect_response, timeout_ms, highest_version)

    def least_loaded_node(self, now_ms: int) -> tuple[Node | None, bool]:
        """The node that a request to any node should go to, and whether any connection is ready.

        From a random start: the first ready one with nothing in flight, else the ready one with least in flight, else
        one that is being connected, else the one whose last attempt is oldest among those that may be connected.
        """
        nodes = self._updater.nodes()
        ready: Node | None = None
        connecting: Node | None = None
        connectable: Node | None = None
        in_flight_min = NEVER_MS
        any_ready = False
        states = self.connection_states
        offset = self._random.randrange(len(nodes)) if len(nodes) > 1 else 0
        for node in nodes[offset:] + nodes[:offset]:
            any_ready = any_ready or (states.is_ready(node.id, now_ms) and self.selector.is_channel_ready(node.id))
            if self.can_send_request(node.id, now_ms):
                in_flight = self._in_flight.count(node.id)
                if in_flight == 0:
                    return node, True
                if in_flight < in_flight_min:
                    in_flight_min, ready = in_flight, node
            elif states.is_preparing(node.id):
                connecting = node
            elif states.can_connect(node.id, now_ms) and (
                connectable is None or states.last_attempt_ms(connectable.id) > states.last_attempt_ms(node.id)
            ):
                connectable = node
        return ready or connecting or connectable, any_ready

    def connection_delay_ms(self, node_id: int, now_ms: int) -> int:
        """How long until the node may be tried again."""
        return self.connection_states.connection_delay_ms(node_id, now_ms)

    def disconnect(self, node_id: int, now_ms: int) -> None:
        """Close a connection; the next poll ends its requests as disconnected. Mirrors NetworkClient.disconnect."""
        if self.connection_states.is_disconnected(node_id):
            return
        self.selector.close(node_id)
        self._versions.disconnected(node_id, unanswered=False)
        self.connection_states.disconnected(node_id, now_ms)
        for request in self._in_flight.clear_all(node_id):
            if request.callback is not None:
                self._aborted_sends.append((request.ended(Delivery.DISCONNECTED, now_ms, None), request.callback))

    def poll_delay_ms(self, node_id: int, now_ms: int) -> int:
        """As connection_delay_ms, or the rest of a throttle."""
        return self.connection_states.poll_delay_ms(node_id, now_ms)

    def watch_writes(self, written: Callable[[InFlightRequest], None]) -> None:
        """Call with each request as soon as it is written, before the poll that learns of it."""
        self.selector.on_written = lambda node_id: written(self._in_flight.last_sent(node_id))

    def in_flight_count(self, node_id: int | None = None) -> int:
        """Requests that await their response, of one node or in all."""
        return self._in_flight.count(node_id)

    def connection_problems(self) -> list[str]:
        """Why the known nodes cannot be reached, in words; empty when none has a problem."""
        problems = []
        for node in self._updater.nodes():
            address = f"{node.host}:{node.port}"
            problem = self.connection_states.last_error(node.id)
            if problem is None and self.connection_states.is_connecting(node.id):
                problem = f"{address} has not responded to the connection attempt"
            elif problem is None and self.connection_states.is_preparing(node.id):
                problem = f"{address} has accepted the connection and sends nothing: it may not be a Kafka listener"
            if problem is not None:
                problems.append(problem if address in problem else f"{address}: {problem}")
        return problems

    # One iteration

    def poll(self, now_ms: int) -> bool:
        """Do what can be done without waiting; return True if another iteration should follow at once.

        Completed requests alone are no reason for one: their number is in `completed`, and their senders
        know of them. `next_poll_ms` then is the time until a poll has something to do without any event. A wrong or
        unreadable response raises after everything else has been done.
        """
        if self._aborted_sends:
            ended, self._aborted_sends = self._aborted_sends, []
            self._complete(ended)
            self.completed = len(ended)
            return True
        metadata_wait_ms = self._updater.maybe_update(now_ms)
        if self.telemetry is not None:
            self.telemetry.maybe_update(now_ms)
        try:
            return self._handle_events(now_ms)
        finally:
            if self.completed:
                metadata_wait_ms = self._updater.wait_ms(now_ms)  # they may have requested an update
            self.next_poll_ms = self._next_poll_ms(metadata_wait_ms, now_ms)

    def _handle_events(self, now_ms: int) -> bool:
        """Handle the events of the connections and the requests that are overdue."""
        selector = self.selector
        more = selector.poll(now_ms)
        self._ended = []
        self._completed_internally = self._gave_up = self._versions.has_news = False
        broken: ProducerError | None = None
        for node_id in selector.completed_sends:
            self._handle_completed_send(node_id, now_ms)
        for receive in selector.completed_receives:
            try:
                self._handle_completed_receive(receive, now_ms)
            except (ProducerError, MessageDecodeError) as error:
                # As in Kafka the connection stays, though it is unknown to which request the next response belongs.
                broken = broken or ProducerError(f"response of node {receive.node_id}: {error}")
        for disconnection in selector.disconnected:
            self._process_disconnection(
                disconnection.node_id,
                disconnection.state,
                disconnection.reason,
                now_ms,
                refused=disconnection.failure,
            )
        for node_id in selector.connected:
            self._versions.connected(node_id)
        if self._versions.is_busy:
            self._versions.run(now_ms)
        if self.connection_states.is_any_connecting:
            self._handle_timed_out_connections(now_ms)
        if self._in_flight.next_overdue_ms(now_ms, NEVER_MS) == 0:
            self._handle_timed_out_requests(now_ms)
        if now_ms >= self._updater.rebootstrap_due_ms:
            self._handle_rebootstrap(now_ms)
        again = bool(
            more
            or self._completed_internally
            or self._gave_up
            or self._versions.has_news
            or selector.disconnected
            or selector.connected
            or selector.awaited_write_completed
        )
        ended, self._ended = self._ended, []
        self.completed = len(ended)
        if ended:
            self._complete(ended)
        if broken is not None:
            raise broken
        return again or bool(self._aborted_sends)

    def _next_poll_ms(self, metadata_wait_ms: int, now_ms: int) -> int:
        # Kafka's poll waits for request.timeout.ms whenever that began, and so ends a request up to that much late.
        wait_ms = min(self._in_flight.next_overdue_ms(now_ms, NEVER_MS), self.selector.next_idle_close_ms(now_ms))
        if self._versions.is_busy:
            wait_ms = min(wait_ms, self._versions.next_run_ms(now_ms))
        if self.connection_states.is_any_connecting:
            wait_ms = min(wait_ms, self.connection_states.next_setup_timeout_ms(now_ms))
        self.time_out_ms = min(now_ms + wait_ms, self._updater.rebootstrap_due_ms)
        wait_ms = min(wait_ms, metadata_wait_ms)
        if self.telemetry is not None:
            wait_ms = min(wait_ms, self.telemetry.wait_ms(now_ms))
        return wait_ms

    def close(self) -> None:
        """Close every connection; requests in flight end as disconnected, without a word to their senders."""
        if not self._closed:
            self._closed = True
            self.selector.close_all()
            self.metadata.close()
            if self.telemetry is not None:
                self.telemetry.close()

    # For the metadata updater: see MetadataTransport.

    def can_send_request(self, node_id: int, now_ms: int) -> bool:
        """True if the connection is ready and has room for one more request."""
        if not (self.connection_states.is_ready(node_id, now_ms) and self.selector.is_channel_ready(node_id)):
            return False
        if self._in_flight.can_send_more(node_id):
            return True
        self.selector.await_write(node_id)
        return False

    def can_connect(self, node_id: int, now_ms: int) -> bool:
        """True if a connection may begin now."""
        return self.connection_states.can_connect(node_id, now_ms)

    def is_any_node_connecting(self) -> bool:
        """True if a connection to a known node is being made."""
        return any(self.connection_states.is_connecting(node.id) for node in self._updater.nodes())

    def initiate_connect(self, node: Node, now_ms: int) -> None:
        """Begin a connection."""
        self.connection_states.connecting(node.id, node.host, now_ms)
        self._versions.connecting(node)
        self.selector.connect(
            node.id,
            node.host,
            node.port,
            send_buffer_bytes=self.config.send_buffer_bytes,
            receive_buffer_bytes=self.config.receive_buffer_bytes,
        )

    def send_internal(self, request: MetadataRequest, node_id: int, now_ms: int) -> None:
        """Send a request of the client's own."""
        known = self.api_versions.get(node_id)
        if known is not None:
            request = metadata_request_for(known, request)
        self._send(node_id, request, now_ms, None, True, None, None)

    # Details

    def _send(
        self,
        node_id: int,
        request: Message,
        now_ms: int,
        callback: Callable[[ClientResponse], None] | None,
        expect_response: bool,  # noqa: FBT001
        timeout_ms: int | None,
        highest_version: int | None,
    ) -> int:
        if self._closed:
            raise IllegalState("the network client is closed")
        correlation_id = self._next_correlation_id()
        known = self.api_versions.get(node_id)
        api_version = request.VERSIONS.highest
        if highest_version is not None:
            api_version = min(api_version, highest_version)
        try:
            if known is not None:
                api_version = known.latest_usable(type(request), highest_version)
            frame = encode_request(request, api_version, correlation_id=correlation_id, client_id=self.config.client_id)
        except (UnsupportedVersion, MessageEncodeError) as error:
            self._refuse(node_id, correlation_id, api_version, callback, error, now_ms)
            return correlation_id
        if timeout_ms is None:
            timeout_ms = self.config.request_timeout_ms
        self._in_flight.add(
            InFlightRequest(
                node_id=node_id,
                correlation_id=correlation_id,
                request=request,
                api_version=api_version,
                expect_response=expect_response,
                is_internal=callback is None,
                created_ms=now_ms,
                sent_ms=now_ms,
                timeout_ms=timeout_ms,
                callback=callback,
            )
        )
        self.time_out_ms = min(self.time_out_ms, now_ms + timeout_ms + 1)
        if not expect_response:
            self.selector.await_write(node_id)
        self.selector.send(node_id, frame)
        return correlation_id

    def _refuse(
        self,
        node_id: int,
        correlation_id: int,
        api_version: int,
        callback: Callable[[ClientResponse], None] | None,
        error: Exception,
        now_ms: int,
    ) -> None:
        mismatch = error if isinstance(error, UnsupportedVersion) else UnsupportedVersion(str(error))
        if callback is None:
            self._updater.handle_failed_request(now_ms, mismatch)
            return
        response = ClientResponse(
            node_id=node_id,
            correlation_id=correlation_id,
            api_version=api_version,
            delivery=Delivery.VERSION_MISMATCH,
            received_ms=now_ms,
            mismatch=mismatch,
        )
        self._aborted_sends.append((response, callback))

    def _next_correlation_id(self) -> int:
        current = self._correlation_id
        self._correlation_id = _CORRELATION_ID_MIN if current == _CORRELATION_ID_MAX else current + 1
        return current

    def _end(self, request: InFlightRequest, delivery: Delivery, now_ms: int, body: Message | None = None) -> None:
        if request.callback is not None:
            self._ended.append((request.ended(delivery, now_ms, body), request.callback))

    @staticmethod
    def _complete(ended: list[tuple[ClientResponse, Callable[[ClientResponse], None]]]) -> None:
        for response, callback in ended:
            try:
                callback(response)
            except Exception:  # noqa: BLE001 - one callback must not stop the others
                _log.failure("uncaught error in the completion of a request to node {node}", node=response.node_id)

    def _handle_completed_send(self, node_id: int, now_ms: int) -> None:
        request = self._in_flight.last_sent(node_id)
        request.written = True
        if not request.expect_response:
            self._in_flight.complete_last_sent(node_id)
            self._end(request, Delivery.WRITTEN, now_ms)

    def _handle_completed_receive(self, receive: NetworkReceive, now_ms: int) -> None:
        node_id = receive.node_id
        request = self._versions.request_of(node_id, receive.payload)
        kind = response_type(request.request.API_KEY)
        api_version = request.api_version
        if kind is ApiVersionsResponse and _is_unsupported_version(receive.payload):
            api_version = 0  # a broker that does not know our version responds in the oldest
        elif request.request is PROBE:
            api_version = layout_of(receive.payload) or 0
        response: Message
        try:
            if kind is ApiVersionsResponse and request.is_internal:
                correlation_id, response = decode_versions(api_version, receive.payload)
            else:
                correlation_id, response = decode_response(kind, api_version, receive.payload)
        except MessageDecodeError:
            self._in_flight.unanswered(request)
            raise
        if correlation_id != request.correlation_id:
            self._in_flight.unanswered(request)
            name = request.request.NAME
            raise ProducerError(f"correlation id {correlation_id} is not {name}'s, {request.correlation_id}")
        self._maybe_throttle(request, response, now_ms)
        self._completed_internally = self._completed_internally or request.is_internal
        if not request.is_internal:
            self._end(request, Delivery.RECEIVED, now_ms, response)
        elif request.request is PROBE:
            self._versions.handle_probe(node_id, now_ms, api_version)
        elif isinstance(response, MetadataResponse):
            self._updater.handle_response(response, request.api_version, now_ms)
        elif isinstance(response, ApiVersionsResponse):
            self._handle_api_versions(request, response, now_ms)

    def _maybe_throttle(self, request: InFlightRequest, response: Message, now_ms: int) -> None:
        throttle_ms: int = getattr(response, "throttle_time_ms", 0)
        if self.throttle_time is not None:
            self.throttle_time.record(throttle_ms, now_ms)
        since = response.API_KEY.facts.client_throttles_since
        if throttle_ms <= 0 or since is None or request.api_version < since:
            return
        self._in_flight.increment_throttle_time(request.node_id, throttle_ms)
        self.connection_states.throttle(request.node_id, now_ms + throttle_ms)

    def _handle_api_versions(self, request: InFlightRequest, response: ApiVersionsResponse, now_ms: int) -> None:
        code = self._versions.handle_api_versions(request, response)
        if code is not ErrorCode.NONE:
            reason = f"error {code.name} in the response to ApiVersions"
            self.selector.close(request.node_id)
            self._process_disconnection(request.node_id, ChannelState.LOCAL_CLOSE, reason, now_ms)

    def _send_internal(self, node_id: int, request: Message, now_ms: int, highest_version: int | None) -> None:
        self._send(node_id, request, now_ms, None, True, None, highest_version)

    def _process_disconnection(
        self,
        node_id: int,
        state: ChannelState,
        reason: str,
        now_ms: int,
        *,
        timed_out: bool = False,
        refused: AuthenticationFailed | None = None,
    ) -> None:
        was_preparing = self.connection_states.is_preparing(node_id) and state is ChannelState.READY
        self._versions.disconnected(node_id, unanswered=was_preparing)
        if was_preparing:
            reason += " (closed before it sent its API versions: security.protocol may not be the listener's)"
        elif state is ChannelState.AUTHENTICATE:
            reason += (
                " (closed during the authentication: security.protocol may not be the listener's, or a broker before "
                "1.0 has refused the credentials)"
            )
            _log.warn(
                "connection to node {node} ended during the authentication: {reason}", node=node_id, reason=reason
            )
        if refused is None:
            self.connection_states.disconnected(node_id, now_ms, reason)
        else:
            self.connection_states.authentication_failed(node_id, now_ms, reason)
            _log.error("connection to node {node} failed authentication: {reason}", node=node_id, reason=reason)
        if state is ChannelState.NOT_CONNECTED:
            _log.warn("connection to node {node} could not be established: {reason}", node=node_id, reason=reason)
        delivery = Delivery.TIMED_OUT if timed_out else Delivery.DISCONNECTED
        for request in self._in_flight.clear_all(node_id):
            if not request.is_internal:
                self._end(request, delivery, now_ms)
            elif isinstance(request.request, MetadataRequest) and request.request is not PROBE:
                self._updater.handle_failed_request(now_ms)
        self._updater.handle_disconnect(node_id, reason, now_ms, refused)

    def _handle_timed_out_connections(self, now_ms: int) -> None:
        for node_id in self.connection_states.nodes_with_setup_timeout(now_ms):
            timeout_ms = self.connection_states.setup_timeout_ms(node_id)
            self.selector.close(node_id)
            reason = f"no connection after {timeout_ms} ms (socket.connection.setup.timeout.ms)"
            self._gave_up = True
            self._process_disconnection(node_id, ChannelState.NOT_CONNECTED, reason, now_ms, timed_out=True)

    def _handle_timed_out_requests(self, now_ms: int) -> None:
        for node_id in self._in_flight.nodes_with_overdue_requests(now_ms):
            self.selector.close(node_id)
            reason = f"a request had no response within request.timeout.ms={self.config.request_timeout_ms}"
            self._gave_up = True
            self._process_disconnection(node_id, ChannelState.LOCAL_CLOSE, reason, now_ms, timed_out=True)

    def _handle_rebootstrap(self, now_ms: int) -> None:
        for node in self._updater.nodes():
            connected = self.selector.is_channel_ready(node.id) or self.connection_states.is_preparing(node.id)
            self.selector.close(node.id)
            if connected:
                reason = "no metadata within metadata.recovery.rebootstrap.trigger.ms"
                self._process_disconnection(node.id, ChannelState.LOCAL_CLOSE, reason, now_ms)
        self._updater.rebootstrap(now_ms)
        self._gave_up = True


def _is_unsupported_version(payload: bytes) -> bool:
    return payload[4:6] == ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")
