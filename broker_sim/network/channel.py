"""One client connection: received bytes, frames, mute state, sent bytes. Mirrors KafkaChannel and its part of Selector.

Frames that arrive while a request is in the broker wait here undecoded. When they exceed MUTED_BUFFER_LIMIT_BYTES the
transport is paused, so that TCP's back-pressure stops a client that pipelines without limit, as with Kafka. A channel
whose peer has disconnected is kept until the requests that have arrived are served, one by one.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from twisted.internet.protocol import Protocol, connectionDone

from broker_sim.network.channel_mute import TABLE, MuteEvent, MuteState
from broker_sim.network.channel_states import CHANNEL_TABLE, ChannelEvent, ChannelState, WriteState
from broker_sim.network.response_writer import LOST, joined, writer_for
from protocol_specs.errors import FrameError
from protocol_specs.framing import FrameReader
from sim_runtime.read_pace import READ_SIZE_BYTES, ReadPace

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall
    from twisted.python.failure import Failure

    from broker_sim.apis.request_context import ConnectionInfo, RequestContext
    from broker_sim.faults.connections import Shaping
    from broker_sim.network.acceptor import Acceptor
    from broker_sim.network.processor import Processor
    from broker_sim.network.response_writer import Frame, IChannelTransport, ResponseWriter
    from broker_sim.network.sasl_session import SaslSession
    from sim_runtime.shaped_transport import ShapedTransport

__all__ = ["KafkaChannel"]

MUTED_BUFFER_LIMIT_BYTES: Final = 1024 * 1024
"""A muted channel with more unserved bytes than this stops reading."""
NO_CLIENT_ID: Final = b"\xff\xff"
WRITE_BATCH_LIMIT_BYTES: Final = 64 * 1024
"""Responses to pipelined requests of one read are sent together up to this size."""
_EARLY_S: Final = 0.001
"""Clients count the throttle time in whole milliseconds, and may send up to one too early without a fault."""

_HTTP_METHODS: Final = (b"GET ", b"HEAD ", b"POST ", b"PUT ", b"DELETE ", b"OPTIONS ")
_TLS_HANDSHAKE: Final = b"\x16\x03"
# Constants that each request needs, because looking up a member of an enum is slow.
_OPEN: Final = ChannelState.OPEN
_DIRECT: Final = WriteState.DIRECT
_GATHERING: Final = WriteState.GATHERING
_NOT_MUTED: Final = MuteState.NOT_MUTED
# The two usual changes, precomputed: a request mutes the channel and is pending, a sent response unmutes it.
_AFTER_REQUEST: Final = TABLE.next(TABLE.next(_NOT_MUTED, MuteEvent.MUTE), MuteEvent.REQUEST_RECEIVED)
_AFTER_RESPONSE: Final = TABLE.next(TABLE.next(_AFTER_REQUEST, MuteEvent.RESPONSE_SENT), MuteEvent.UNMUTE)


class KafkaChannel(Protocol):
    """A connection of one Processor: holds its state, reads and writes; the Processor takes the decisions."""

    transport: IChannelTransport

    def __init__(self, acceptor: Acceptor, info: ConnectionInfo, *, limit_bytes: int) -> None:
        self.acceptor = acceptor
        self.processor: Processor = acceptor.processors[0]
        self.info = info
        self.mute_state = _NOT_MUTED
        self.state = ChannelState.OPEN
        self.close_reason = ""
        self.unreadable = False
        self.last_active_us = 0
        self._reader = FrameReader(limit_bytes=limit_bytes, option="socket.request.max.bytes")
        self._frames: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._reading = True
        self._outgoing: list[Frame] = []
        self._outgoing_bytes = 0
        self._writer: ResponseWriter | None = None
        self._write_state = WriteState.DIRECT
        self._pace: ReadPace | None = None
        self.header_ends = (NO_CLIENT_ID, NO_CLIENT_ID + b"\0")
        """The client id with its length, as in the last request's header: without and with an empty tag section."""
        self.client_id: str | None = None
        self.on_client_id: Callable[[str], None] | None = None
        """Is called with the client id of the next request that has another one than the request before."""
        self.shaping: Shaping | None = None
        """The faults of this connection, see ConnectionFaults."""
        self.held_frames: list[bytes] = []
        """The responses that a fault rule holds to send them in another order."""
        self._throttle: IDelayedCall | None = None
        self._early = 0
        """The waiting requests that arrived at least _EARLY_S before the end of the throttle time."""
        self.session: SaslSession | None = None
        """The authentication of a connection of a SASL listener."""
        self.unsent: tuple[RequestContext, int, int] | None = None
        """The request whose response waits in the transport, the response's size, and the start of the wait."""

    @property
    def closed(self) -> bool:
        """True when the broker has closed the connection."""
        return self.state in (ChannelState.CLOSING, ChannelState.CLOSED)

    @property
    def waiting_requests(self) -> int:
        """The number of requests that wait behind the one in the broker and that will be served."""
        return len(self._frames) if self.state in (ChannelState.OPEN, ChannelState.PEER_GONE) else 0

    @property
    def disconnected(self) -> bool:
        """True when the transport is disconnected."""
        return self.state in (ChannelState.PEER_GONE, ChannelState.CLOSED)

    @property
    def between_frames(self) -> bool:
        """True if the next bytes begin a request."""
        return not self._reader.buffered_bytes

    @property
    def has_invalid_size(self) -> bool:
        """True if a frame's size was invalid: nothing is read behind it."""
        return self._reader.fault is not None

    def limit_frames(self, limit_bytes: int, option: str) -> None:
        """Set the largest size of the frames that arrive from now on, and the option that names it."""
        self._reader.limit_bytes = limit_bytes
        self._reader.option = option

    def connectionMade(self) -> None:  # noqa: N802
        """Configure the socket and pass the connection to the Acceptor."""
        transport = self.transport
        self._pace = ReadPace(transport)
        transport.setTcpNoDelay(True)
        transport.setTcpKeepAlive(True)
        self._writer = writer_for(transport, self._drained)
        self.acceptor.connection_made(self)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        """Split the bytes into frames and serve them, unless a request of this channel is in the broker."""
        if self.state is not _OPEN and self.closed:
            return
        reader = self._reader
        try:
            frames = reader.receive(data)
        except FrameError as error:
            if not self._frames and self.mute_state is _NOT_MUTED:
                self.processor.refuse_bytes(self, _format_frame_error(data, error))
            return
        pace = self._pace
        assert pace is not None
        if reader.missing_bytes or not pace.is_usual or len(data) >= READ_SIZE_BYTES:
            pace.adjust(len(data), reader.missing_bytes)
        if frames:
            self._frames.extend(frames)
            if self.mute_state is _NOT_MUTED:
                self.processor.server.serve(self)
            elif self._throttle is not None:
                self._arrived_while_throttled(self._throttle)
        if self._frames or self.mute_state is not _NOT_MUTED:
            self._waiting_bytes += len(data)
            if self._waiting_bytes > MUTED_BUFFER_LIMIT_BYTES and self._reading:
                self._reading = False
                self.transport.pauseProducing()

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802
        """The peer has disconnected, or the broker has closed; requests that have arrived are still served."""
        self.state = CHANNEL_TABLE.next(self.state, ChannelEvent.PEER_LOST)
        self._writer = None
        if not self.close_reason:
            self.close_reason = f"the peer closed it: {reason.getErrorMessage()}"
        self._drained()
        self.forget_when_served()

    # Methods for the Processor.

    def serve_frames(self) -> None:
        """Pass waiting frames to the Processor until a request stays in the broker; then send gathered responses."""
        frames = self._frames
        processor = self.processor
        if self._write_state is _DIRECT:
            self._write_state = _GATHERING
        try:
            while frames and self.mute_state is _NOT_MUTED and not processor.blocked:
                frame = frames.popleft()
                if self._waiting_bytes:
                    self._waiting_bytes -= len(frame) + 4
                processor.receive(self, frame)
        except Exception:  # noqa: BLE001 - an error of the simulator closes this connection, other channels go on
            processor.close_after_error(self)
        finally:
            if self._write_state is _GATHERING:
                self._write_state = _DIRECT
                if self._outgoing and not self._flush() and self.mute_state is _NOT_MUTED:
                    # Some responses are not sent yet: the channel stays muted until they are.
                    self.mute_state = _AFTER_REQUEST
                    self._write_state = WriteState.BLOCKED
        if frames:
            if processor.blocked and self.mute_state is _NOT_MUTED:
                processor.waiting[self] = None
            if not self._reading and self._waiting_bytes < MUTED_BUFFER_LIMIT_BYTES // 2:
                self._resume_reading()
        elif self.mute_state is _NOT_MUTED and (self.state is _OPEN or not self.closed):
            self._read_on()

    def mute_for_request(self) -> None:
        """A request of this channel enters the broker."""
        self.mute_state = _AFTER_REQUEST

    def response_sent(self) -> None:
        """The response is sent, or the request needs none: resume reading, unless throttled."""
        if self.mute_state is _AFTER_REQUEST:
            self.mute_state = _AFTER_RESPONSE
        else:
            self.mute(MuteEvent.RESPONSE_SENT)
        if self._write_state is not _GATHERING and self.mute_state is _NOT_MUTED:
            self.wake()

    def mute(self, event: MuteEvent) -> None:
        """Apply an event of the table; a channel that is then plain MUTED is unmuted."""
        self.mute_state = TABLE.next(self.mute_state, event)
        if self.mute_state is MuteState.MUTED:
            self.mute_state = TABLE.next(self.mute_state, MuteEvent.UNMUTE)

    def throttle(self, throttle_ms: int) -> None:
        """Do not read for a time, also after the response is sent (KIP-219)."""
        if self.closed:
            return
        self.mute(MuteEvent.THROTTLE_STARTED)
        self._early = 0
        self._throttle = self.processor.server.reactor.callLater(throttle_ms / 1000, self._throttle_ended)

    def _arrived_while_throttled(self, throttle: IDelayedCall) -> None:
        if throttle.getTime() - self.processor.server.reactor.seconds() >= _EARLY_S:
            self._early = len(self._frames)

    def _throttle_ended(self) -> None:
        self._throttle = None
        self.processor.throttle_ended(self, self._early)
        self.mute(MuteEvent.THROTTLE_ENDED)
        if self.mute_state is _NOT_MUTED:
            self.wake()

    def _end_throttle(self) -> None:
        if self._throttle is not None:
            self._throttle.cancel()
            self._throttle = None

    def wake(self) -> None:
        """Serve waiting frames in an iteration of the SocketServer; without any, resume reading."""
        if self._frames:
            self.processor.server.wake(self)
        else:
            self._read_on()

    def send(self, frame: Frame) -> bool:
        """Send a response. Returns False if it waits in the transport: `Processor.complete_send` then follows."""
        if self.state is not _OPEN:
            return True
        self._outgoing.append(frame)
        self._outgoing_bytes += len(frame)
        if self._write_state is _GATHERING and self._outgoing_bytes < WRITE_BATCH_LIMIT_BYTES:
            return True
        if self._flush():
            return True
        self._write_state = WriteState.BLOCKED
        return False

    def silence(self) -> None:
        """Send the gathered responses and drop all later ones, as if the network had lost a response."""
        if self._outgoing:
            self._flush()
        if self._writer is not None:
            self._writer = LOST

    def abandon(self) -> None:
        """Leave the request in the broker without a response: serve no further request, keep the connection open."""
        self.state = CHANNEL_TABLE.next(self.state, ChannelEvent.ABANDON)
        self.forget_when_served()

    def cut(self, part: bytes, reason: str) -> None:
        """Send a part of a response, then close."""
        if not self.disconnected:
            self._outgoing.append(part)
            self.close(reason)

    def close(self, reason: str) -> None:
        """Close the connection: gathered responses are still sent, waiting requests are not served."""
        if self.closed:
            return
        self.state = CHANNEL_TABLE.next(self.state, ChannelEvent.CLOSE)
        self.close_reason = reason
        self._frames.clear()
        self._end_throttle()
        if self.disconnected:
            self.processor.forget(self)
            return
        if self._outgoing:
            self._flush()
        self.transport.loseConnection()

    def abort(self, reason: str) -> None:
        """Reset the connection: nothing more is sent."""
        if self.state is ChannelState.CLOSED:
            return
        if not self.closed:
            self.state = CHANNEL_TABLE.next(self.state, ChannelEvent.CLOSE)
        self.close_reason = reason
        self._frames.clear()
        self._outgoing.clear()
        self._end_throttle()
        if self.disconnected:
            self.processor.forget(self)
        else:
            self.transport.abortConnection()

    def forget_when_served(self) -> None:
        """Remove a disconnected channel from its Processor once all its requests are served."""
        state = self.state
        if state is ChannelState.CLOSED or (
            state is ChannelState.PEER_GONE and not self._frames and self.mute_state is _NOT_MUTED
        ):
            self.processor.forget(self)

    # Faults of the connection.

    def shape(self, closed: Callable[[ShapedTransport], None]) -> ShapedTransport:
        """Put a layer that shapes both directions under this channel, and under TLS."""
        from broker_sim.network.channel_shaping import shape

        return shape(self, closed, full=self._write_state is WriteState.BLOCKED)

    def move_to(self, transport: IChannelTransport) -> None:
        """Use another transport, which takes the place of the current one."""
        assert self._pace is not None
        self._pace.adjust(0, 0)
        self.transport = transport
        self._pace = ReadPace(transport)
        if self._writer is not None and self._writer is not LOST:
            self._writer = writer_for(transport, self._drained)

    # Bytes.

    def _flush(self) -> bool:
        outgoing = self._outgoing
        data = outgoing[0] if len(outgoing) == 1 else joined(*outgoing)
        outgoing.clear()
        self._outgoing_bytes = 0
        return self._writer is None or self._writer.write(data)

    def _drained(self) -> None:
        if self._write_state is WriteState.BLOCKED:
            self._write_state = WriteState.DIRECT
            self.processor.complete_send(self)

    def _resume_reading(self) -> None:
        self._reading = True
        if not self.disconnected:
            self.transport.resumeProducing()

    def _read_on(self) -> None:
        """Resume reading when no frame waits and no request is pending; refuse a bad size after the last frame."""
        self._waiting_bytes = 0
        if not self._reading:
            self._resume_reading()
        fault = self._reader.fault
        if fault is not None:
            self.processor.refuse_bytes(self, str(fault))
        if self.state is not _OPEN:
            self.forget_when_served()


def _format_frame_error(data: bytes, error: FrameError) -> str:
    """Describe bytes that are no frame; a TLS handshake and a request of HTTP are named as such."""
    if data.startswith(_HTTP_METHODS):
        return f"the client speaks HTTP: this is a listener for Kafka's protocol ({error})"
    if not data.startswith(_TLS_HANDSHAKE):
        return str(error)
    return f"the client speaks TLS, and the listener does not: its security.protocol must be PLAINTEXT ({error})"
