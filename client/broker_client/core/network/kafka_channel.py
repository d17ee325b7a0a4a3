"""One connection of a Selector: staged frames in, at most one frame out at a time.

Mirrors KafkaChannel on a Twisted transport.
"""

from __future__ import annotations

import socket
from collections import deque
from enum import Enum, auto
from typing import TYPE_CHECKING, Protocol

from twisted.internet.interfaces import IPullProducer
from twisted.internet.protocol import ClientFactory, connectionDone
from twisted.internet.protocol import Protocol as TwistedProtocol
from zope.interface import implementer

from broker_client.errors import AuthenticationFailed, ConnectionFailed, IllegalState, SslAuthenticationFailed
from protocol_specs.errors import FrameError, FrameTooLarge
from sim_runtime.direct_send import is_plain_socket, send_at_once
from sim_runtime.read_pace import ReadPace

if TYPE_CHECKING:
    from twisted.internet.interfaces import IAddress, IConnector, ITCPTransport
    from twisted.python.failure import Failure

    from broker_client.core.network.host_addresses import ConnectionAttempt
    from broker_client.core.network.sasl.channel_authentication import ChannelAuthentication
    from protocol_specs.framing import FrameReader

__all__ = ["ChannelEvents", "ChannelState", "KafkaChannel"]

_TLS_RECORD_TYPES = (0x14, 0x15, 0x16, 0x17)


class ChannelState(Enum):
    """How far a channel has come, or why it ended. Mirrors ChannelState."""

    NOT_CONNECTED = auto()
    AUTHENTICATE = auto()
    READY = auto()
    EXPIRED = auto()
    FAILED_SEND = auto()
    AUTHENTICATION_FAILED = auto()
    LOCAL_CLOSE = auto()


class ChannelEvents(Protocol):
    """The events that a channel reports to its selector."""

    def channel_connected(self, channel: KafkaChannel) -> None:
        """The connection is there."""

    def channel_reauthenticated(self, channel: KafkaChannel, took_ms: int) -> None:
        """The broker has prolonged the session of the connection."""

    def channel_active(self, channel: KafkaChannel) -> None:
        """Frames were staged."""

    def channel_written(self, channel: KafkaChannel) -> None:
        """The pending send has been handed to the network."""

    def channel_lost(self, channel: KafkaChannel, reason: str) -> None:
        """The connection, or the attempt at one, has ended by itself."""


@implementer(IPullProducer)
class KafkaChannel(TwistedProtocol):
    """A node's channel. After `close` it reports nothing.

    Bytes that the socket takes at once have left; for the rest it is a pull producer on its own transport, which is
    notified when all bytes have left: a completed send.
    """

    def __init__(self, node_id: int, address: str, events: ChannelEvents, reader: FrameReader) -> None:
        self.node_id = node_id
        self.address = address
        self.state = ChannelState.NOT_CONNECTED
        self.staged: deque[bytes] = deque()
        self._has_received = False
        """Whether the peer has sent a whole frame: it is no TLS listener then."""
        self.muted = False
        self.send_pending = False
        self.connector: ConnectionAttempt | None = None
        self.failure: AuthenticationFailed | None = None
        """Why the two do not accept each other, in the state AUTHENTICATION_FAILED."""
        self.authentication: ChannelAuthentication | None = None
        """SASL, which comes before the first frame of a request."""
        self._held: bytes | None = None
        """The frame that a re-authentication precedes."""
        self._events: ChannelEvents | None = events
        self._reader = reader
        self._transport: ITCPTransport | None = None
        self._sends_at_once = False
        self._pace: ReadPace | None = None
        self._send_buffer_bytes = -1
        self._receive_buffer_bytes = -1

    def set_socket_buffers(self, send_bytes: int, receive_bytes: int) -> None:
        """SO_SNDBUF and SO_RCVBUF to set once connected; -1 leaves the system's."""
        self._send_buffer_bytes = send_bytes
        self._receive_buffer_bytes = receive_bytes

    def send(self, frame: bytes) -> None:
        """Hand one whole frame to the network; raises IllegalState while another is pending."""
        if self.send_pending or self._held is not None:
            raise IllegalState(f"node {self.node_id} has a send in progress already")
        assert self._transport is not None
        if self.authentication is not None and not self.muted:
            begin = self.authentication.begin_again_if_due()
            if begin is not None:
                self._held = frame
                self._transport.write(begin)
                return
        self.send_pending = True
        if self._sends_at_once:
            frame = send_at_once(self._transport, frame)  # type: ignore[arg-type]  # it was looked at
            if not frame:
                self.resumeProducing()
                return
        self._transport.write(frame)

    def mute(self) -> None:
        """Read no more until `unmute`."""
        if not self.muted:
            self.muted = True
            if self._transport is not None:
                self._transport.pauseProducing()  # type: ignore[attr-defined]  # every TCP transport is a producer

    def unmute(self) -> None:
        """Read again."""
        if self.muted:
            self.muted = False
            if self._transport is not None:
                self._transport.resumeProducing()  # type: ignore[attr-defined]  # every TCP transport is a producer

    def close(self, *, flush: bool) -> None:
        """End the connection without a report; `flush` sends first what was written."""
        self._events = None
        transport = self._transport
        if transport is None:
            if self.connector is not None and self.state is ChannelState.NOT_CONNECTED:
                self.connector.disconnect()
            return
        self._transport = None
        transport.unregisterProducer()  # type: ignore[attr-defined]  # every TCP transport is a consumer
        if flush:
            transport.loseConnection()
        else:
            transport.abortConnection()

    # Twisted's side: IProtocol and IPullProducer

    def connectionMade(self) -> None:  # noqa: N802
        """The handshake of TCP is done, and there is no other."""
        if self._take_transport():
            self._become_ready(streaming=False)

    def _take_transport(self) -> bool:
        """True if the connection is still wanted; it then has its socket's options."""
        transport = self.transport
        if self._events is None:
            transport.abortConnection()  # type: ignore[union-attr]  # a TCP transport
            return False
        self._transport = tcp = transport  # type: ignore[assignment]  # a TCP transport
        tcp.setTcpNoDelay(True)  # type: ignore[union-attr]
        tcp.setTcpKeepAlive(True)  # type: ignore[union-attr]
        self._set_socket_buffers()
        return True

    def _become_ready(self, *, streaming: bool) -> None:
        """The transport layer carries frames: authenticate the client, if that is needed."""
        assert self._events is not None
        self.state = ChannelState.READY if self.authentication is None else ChannelState.AUTHENTICATE
        self._sends_at_once = is_plain_socket(self._transport)
        if self._sends_at_once:
            self._pace = ReadPace(self._transport)
        self._transport.registerProducer(self, streaming)  # type: ignore[union-attr]  # every TCP transport is a consumer
        if self.authentication is None:
            self._events.channel_connected(self)
        else:
            self._transport.write(self.authentication.begin())  # type: ignore[union-attr]

    def _authenticate(self, frames: list[bytes], authentication: ChannelAuthentication) -> None:
        """Take the frames of an authentication; stage those that are responses to requests."""
        responses = []
        failure: AuthenticationFailed | ConnectionFailed | None = None
        for frame in frames:
            if authentication.is_unrelated(frame):
                responses.append(frame)
                continue
            try:
                then = authentication.receive(frame)
            except (AuthenticationFailed, ConnectionFailed) as error:
                failure = error
                break
            if then is not None:
                self._transport.write(then)  # type: ignore[union-attr]
            elif not authentication.is_running:
                self._authenticated(authentication)
        if responses:
            self._stage(responses)
        if isinstance(failure, AuthenticationFailed):
            self._fail_authentication(failure)
        elif failure is not None:
            self._lose(f"{self.address}: {failure}")

    def _authenticated(self, authentication: ChannelAuthentication) -> None:
        assert self._events is not None
        if not authentication.is_again:
            self.state = ChannelState.READY
            self._events.channel_connected(self)
            return
        self._events.channel_reauthenticated(self, authentication.took_ms)
        held, self._held = self._held, None
        assert held is not None, "a send begins a re-authentication"
        self.send(held)

    def _fail_authentication(self, failure: AuthenticationFailed) -> None:
        """End the connection for a reason that no later attempt heals."""
        events = self._events
        self.close(flush=False)
        self.state = ChannelState.AUTHENTICATION_FAILED
        self.failure = failure
        if events is not None:
            events.channel_lost(self, str(failure))

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        """Stage the frames that are whole now."""
        events = self._events
        if events is None:
            return
        try:
            frames = self._reader.receive(data)
        except FrameError as error:
            if not self._has_received and _is_tls_record(data, error):
                self._fail_authentication(SslAuthenticationFailed(f"{self.address} {self._tls_problem()}"))
                return
            self._lose(f"{self.address} sent {_what_it_looks_like(data, error)}")
            return
        if self._pace is not None:
            self._pace.adjust(len(data), self._reader.missing_bytes)
        if frames:
            self._has_received = True
            if self.authentication is None:
                self.staged.extend(frames)
                events.channel_active(self)
            else:
                self._authenticate(frames, self.authentication)

    def _tls_problem(self) -> str:
        expected = "SSL, or SASL_SSL with credentials" if self.authentication is None else "SASL_SSL"
        return f"sent a TLS record: it is a TLS listener, security.protocol names another (expected {expected})"

    def _stage(self, frames: list[bytes]) -> None:
        if self._events is not None:
            self.staged.extend(frames)
            self._events.channel_active(self)

    def _lose(self, reason: str) -> None:
        events = self._events
        self.close(flush=False)
        if events is not None:
            events.channel_lost(self, reason)

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802 # type: ignore[override]
        """The peer closed, or the network failed."""
        self._transport = None
        events, self._events = self._events, None
        if events is not None:
            events.channel_lost(self, f"{self.address}: {reason.getErrorMessage()}")

    def connection_failed(self, reason: Failure) -> None:
        """The connection could not be made."""
        events, self._events = self._events, None
        if events is not None:
            events.channel_lost(self, f"{self.address}: {reason.getErrorMessage()}")

    def resumeProducing(self) -> None:  # noqa: N802
        """All that was written has left."""
        if self.send_pending:
            self.send_pending = False
            if self._events is not None:
                self._events.channel_written(self)

    def stopProducing(self) -> None:  # noqa: N802
        """The transport is gone; connectionLost follows."""

    def _set_socket_buffers(self) -> None:
        get_handle = getattr(self._socket_transport(), "getHandle", None)
        if get_handle is None:
            return  # a simulated connection has no socket
        handle = get_handle()
        for option, size in (
            (socket.SO_SNDBUF, self._send_buffer_bytes),
            (socket.SO_RCVBUF, self._receive_buffer_bytes),
        ):
            if size >= 0:
                handle.setsockopt(socket.SOL_SOCKET, option, size)

    def _socket_transport(self) -> object:
        """The transport that has the socket."""
        return self.transport


class ChannelFactory(ClientFactory):
    """Makes the one channel of one connection attempt."""

    noisy = False

    def __init__(self, channel: KafkaChannel) -> None:
        self._channel = channel

    def buildProtocol(self, addr: IAddress | None) -> KafkaChannel:  # noqa: ARG002, N802
        """The channel that waits for this connection."""
        return self._channel

    def clientConnectionFailed(self, connector: IConnector, reason: Failure) -> None:  # noqa: ARG002, N802
        """Refused, timed out, or the name does not resolve."""
        self._channel.connection_failed(reason)


def _is_tls_record(data: bytes, error: FrameError) -> bool:
    return (
        isinstance(error, FrameTooLarge) and data[:1] != b"" and data[0] in _TLS_RECORD_TYPES and data[1:2] == b"\x03"
    )


def _what_it_looks_like(data: bytes, error: FrameError) -> str:
    if data[:5] == b"HTTP/":
        return "an HTTP response: bootstrap.servers names no Kafka listener"
    return f"no Kafka frame ({error}): bootstrap.servers names no Kafka listener"
