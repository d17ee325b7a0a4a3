"""One end of a simulated TCP connection: Twisted's ITCPTransport over two flows, with a window and a receive buffer.

It behaves as Twisted's socket transport does on Linux, including:
- `loseConnection` sends the buffered bytes, then closes in the next loop iteration without waiting for the peer;
- `abortConnection` discards bytes written at the same time, and resets the connection;
- a paused transport with nothing to write does not detect that its peer has closed;
- a segment that arrives at a closed socket causes a reset.
"""

# ruff: noqa: FBT001, N802
# The names are those of Twisted's interfaces.

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, cast

from twisted.internet.error import ConnectionLost
from twisted.internet.interfaces import (
    IConsumer,
    IHalfCloseableProtocol,
    IProtocol,
    IPullProducer,
    IPushProducer,
    ITCPTransport,
)
from twisted.python.failure import Failure
from zope.interface import implementer

from sim_runtime.transport_base import ABORTED, DONE, LOST, TransportBase
from sim_runtime.virtual_flow import Flow, SegmentKind

if TYPE_CHECKING:
    from twisted.internet.address import IPv4Address

    from sim_runtime.virtual_connection import VirtualConnector, VirtualListeningPort
    from sim_runtime.virtual_host import HostReactor

__all__ = ["VirtualTransport"]

READ_BUFFER_BYTES: Final = 64 * 1024

_DATA: Final = SegmentKind.DATA
_FIN: Final = SegmentKind.FIN


@implementer(ITCPTransport, IPushProducer, IConsumer)
class VirtualTransport(TransportBase):
    """One end."""

    def __init__(self, reactor: HostReactor, host: IPv4Address, peer: IPv4Address, window_bytes: int) -> None:
        super().__init__()
        self.connected = False
        self.reactor = reactor
        self.protocol: IProtocol | None = None
        self.connector: VirtualConnector | None = None
        self.listener: VirtualListeningPort | None = None
        self.flow: Flow  # set once, when both ends exist
        self.other: VirtualTransport
        self.bufferSize = READ_BUFFER_BYTES
        self._core = reactor.core
        self._host = host
        self._peer = peer
        self._window_bytes = window_bytes
        self._unread_by_peer = 0
        self._pending: deque[bytes] = deque()
        self._pending_bytes = 0
        self._flush_scheduled = False
        self._reading = False
        self._read_scheduled = False
        self._received: deque[bytes] = deque()
        self._peer_finished = False
        self._peer_reset = False
        self._aborting = False
        self._write_closing = False
        self._write_closed = False
        self._no_delay = False
        self._keep_alive = False

    # Writing

    def write(self, data: bytes) -> None:
        """Send `data` after all that was written before."""
        if not isinstance(data, bytes):
            raise TypeError("Data must be bytes")
        if not data or not self.connected or self._write_closed or self._aborting:
            return
        if self._pending or self.producer is not None or self._peer_reset:
            self._write_later(data)
            return
        unread = self._unread_by_peer + len(data)
        if unread <= self._window_bytes:
            self._unread_by_peer = unread
            self.flow.send_data(data)
        else:
            self._write_later(data)

    def loseConnection(self) -> None:
        """Close after all written bytes have gone into the window."""
        if not self.connected or self.disconnecting:
            return
        if self._write_closed:
            self._close(DONE)
            return
        self._reading = False
        self.disconnecting = True
        self._schedule_flush()

    def loseWriteConnection(self) -> None:
        """Send the written bytes, then no more; continue to read."""
        self._write_closing = True
        self._schedule_flush()

    def abortConnection(self) -> None:
        """Reset the connection and discard the bytes that have not left yet."""
        if self.disconnected or self._aborting:
            return
        self._aborting = True
        self._reading = False
        self._pending.clear()
        self._pending_bytes = 0
        self.flow.abandon()
        self._core.callLater(0, self._close, ABORTED)

    # Producing: the protocol pauses its input

    def pauseProducing(self) -> None:
        """Deliver nothing until `resumeProducing`; the peer may fill its window."""
        self._reading = False

    def resumeProducing(self) -> None:
        """Deliver again, from the next loop iteration on."""
        if self.connected and not self.disconnecting and not self._aborting:
            self._reading = True
            self._schedule_read()

    # Consuming: a producer writes to this transport

    def unregisterProducer(self) -> None:
        """Remove the producer; a close that waited for it continues."""
        super().unregisterProducer()
        if self.connected and self.disconnecting:
            self._schedule_flush()

    def stopConsuming(self) -> None:
        """Remove the producer and close."""
        self.unregisterProducer()
        self.loseConnection()

    # Properties of the socket

    def getHost(self) -> IPv4Address:
        """This end's address."""
        return self._host

    def getPeer(self) -> IPv4Address:
        """The other end's address."""
        return self._peer

    def getTcpNoDelay(self) -> bool:
        """True if Nagle's algorithm is off; the simulated network never uses it."""
        return self._no_delay

    def setTcpNoDelay(self, enabled: bool) -> None:
        """Store the option, which has no effect."""
        self._no_delay = bool(enabled)

    def getTcpKeepAlive(self) -> bool:
        """True if an idle peer is probed; the simulated network never does."""
        return self._keep_alive

    def setTcpKeepAlive(self, enabled: bool) -> None:
        """Store the option, which has no effect."""
        self._keep_alive = bool(enabled)

    @property
    def reading(self) -> bool:
        """True unless the protocol has paused its input."""
        return self._reading

    @property
    def pending_bytes(self) -> int:
        """The number of written bytes that have not left."""
        return self._pending_bytes

    # Called by the network and the connector

    def establish(self, protocol: IProtocol) -> None:
        """The handshake is complete: connect `protocol`."""
        self.attach(protocol)
        protocol.makeConnection(self)
        if self._received or self._peer_finished:
            # The connection has waited for its acceptance.
            self._schedule_read()

    def attach(self, protocol: IProtocol) -> None:
        """Attach `protocol`, which is not notified yet."""
        self.protocol = protocol
        self.connected = True
        self._reading = True

    def receive(self, kind: SegmentKind, data: bytes) -> None:
        """A segment arrived."""
        if kind is _DATA:
            if self._reading and not self._received and not self.reactor.is_stopped:
                self.other.peer_read(len(data))
                self._deliver(data)
            elif self.disconnected:
                self.flow.send(SegmentKind.RST)
            else:
                self._received.append(data)
                self._schedule_read()
        elif kind is SegmentKind.ACK:
            if self._pending:
                self._flush()
        elif kind is _FIN:
            self._peer_finished = True
            self._schedule_read(now=True)
        elif kind is SegmentKind.RST:
            self._receive_reset()
        elif kind is SegmentKind.SYN:
            self.reactor.receive_syn(self)
        elif kind is SegmentKind.SYN_ACK:
            self._receive_syn_ack()
        elif self.listener is not None and not self.disconnected:
            listener = self.listener
            self.reactor.perform(lambda: listener.accept(self))

    def continue_after_stop(self) -> None:
        """The process of this end goes on: read what has arrived, and write what had to wait."""
        if self._pending or self.disconnecting or self._write_closing:
            self._schedule_flush()
        self._schedule_read()

    def peer_read(self, size: int) -> None:
        """The peer's protocol has read `size` bytes. The window update is sent only if the sender waits for it."""
        self._unread_by_peer -= size
        if self._pending or self.other.flow.link.blocked:
            self.other.flow.acknowledge()

    def give_up(self) -> None:
        """TCP has retransmitted the same bytes until its limit."""
        if self.connected:
            self._close(LOST)

    def break_off(self) -> None:
        """The connection is gone, as after a reset by the network: this end is not notified by the other one."""
        if self.connected:
            self._peer_reset = True
            self._close(LOST)

    def crash(self) -> None:
        """The process of this end is killed: its kernel resets the connection."""
        if self.disconnected:
            return
        self.flow.abandon()
        if self.connected:
            self._close(LOST, reset=True)
        else:
            self.refuse()
            if self.connector is not None:
                self.connector.fail(ConnectionLost())

    def begin(self) -> None:
        """Send the handshake's first segment."""
        self.flow.send(SegmentKind.SYN)

    def accept_handshake(self) -> None:
        """The port has a listener: complete the handshake."""
        self.flow.send(SegmentKind.SYN_ACK)

    def refuse(self) -> None:
        """Close an end that has never been connected, and reset the peer."""
        self.disconnected = True
        self._end_flow(SegmentKind.RST)

    def stop_connecting(self) -> None:
        """Close a connection that no client waits for any more."""
        self.disconnected = True
        self.flow.abandon()
        self._end_flow(None)

    def drop(self) -> None:
        """Close an unused end; the peer sees an orderly close."""
        self.disconnected = True
        self._end_flow(_FIN)

    # Details

    def _receive_syn_ack(self) -> None:
        if self.disconnected:
            self.flow.send(SegmentKind.RST)
        elif self.connector is not None:
            self.flow.send(SegmentKind.ESTABLISHED)
            connector = self.connector
            self.reactor.perform(lambda: connector.established(self))

    def _receive_reset(self) -> None:
        if self.disconnected:
            return
        if not self.connected:
            if self.connector is not None:
                self.connector.refused()
            self.disconnected = True
            self._end_flow(None)
            return
        self._peer_reset = True
        if self._pending and not self.reactor.is_stopped:
            self._close(LOST)
        else:
            self._schedule_read(now=True)

    def _write_later(self, data: bytes) -> None:
        self._pending.append(data)
        self._pending_bytes += len(data)
        if self.producer is not None and self.streamingProducer and self._pending_bytes > self.bufferSize:
            self.producerPaused = True
            cast("IPushProducer", self.producer).pauseProducing()
        self._schedule_flush()

    def _schedule_flush(self) -> None:
        if not self._flush_scheduled:
            self._flush_scheduled = True
            self._core.callLater(0, self._turn_to_write)

    def _turn_to_write(self) -> None:
        self._flush_scheduled = False
        self._flush()

    def _flush(self) -> None:
        if not self.connected or self._aborting or self.reactor.is_stopped:
            return
        if self._peer_reset and (self._pending or self.disconnecting):
            self._close(LOST)
            return
        self._fill_window()
        if self._pending:
            return
        if self.producer is not None and (not self.streamingProducer or self.producerPaused):
            self.producerPaused = False
            cast("IPullProducer", self.producer).resumeProducing()
        elif self.disconnecting:
            self._close(DONE)
        elif self._write_closing and not self._write_closed:
            self._write_closed = True
            self.flow.send(_FIN)
            half_closeable = _half_closeable(self.protocol)
            if half_closeable is not None:
                half_closeable.writeConnectionLost()

    def _fill_window(self) -> None:
        while self._pending:
            room = self._window_bytes - self._unread_by_peer
            if room <= 0:
                return
            data = self._pending.popleft()
            if len(data) > room:
                self._pending.appendleft(data[room:])
                data = data[:room]
            self._pending_bytes -= len(data)
            self._unread_by_peer += len(data)
            self.flow.send_data(data)

    def _deliver(self, data: bytes) -> None:
        protocol = self.protocol
        assert protocol is not None
        try:
            protocol.dataReceived(data)
        except Exception as error:
            # As Twisted's reactors do: a protocol that raises loses its connection.
            if self.connected:
                self._close(Failure(error))
            raise

    def _schedule_read(self, *, now: bool = False) -> None:
        if not self._reading or self._read_scheduled or self.reactor.is_stopped:
            return
        if now and not self._received:
            self._turn_to_read()
        elif self._received or self._peer_finished or self._peer_reset:
            self._read_scheduled = True
            self._core.callLater(0, self._turn_to_read)

    def _turn_to_read(self) -> None:
        self._read_scheduled = False
        if not self._reading or self.reactor.is_stopped:
            return
        if self._received:
            chunks = [self._received.popleft()]
            size = len(chunks[0])
            while self._received and size + len(self._received[0]) <= self.bufferSize:
                chunks.append(self._received.popleft())
                size += len(chunks[-1])
            self.other.peer_read(size)
            self._deliver(b"".join(chunks))
            self._schedule_read()
        elif self._peer_reset:
            self._close(LOST)
        elif self._peer_finished:
            self._read_end()

    def _read_end(self) -> None:
        half_closeable = _half_closeable(self.protocol)
        if half_closeable is None:
            self._close(DONE)
            return
        self._reading = False
        self._peer_finished = False
        half_closeable.readConnectionLost()

    def _close(self, reason: Failure, *, reset: bool = False) -> None:
        """End the connection at this side and notify the producer, the protocol and the connector, in this order."""
        if self.disconnected:
            return
        self.connected = False
        self.disconnected = True
        self._reading = False
        self._pending.clear()
        self._pending_bytes = 0
        self._received.clear()
        self.stop_producer()
        if self._peer_reset:
            self._end_flow(None)
        elif reset or reason is ABORTED:
            self._end_flow(SegmentKind.RST)
        else:
            self._end_flow(None if self._write_closed else _FIN)
        protocol, self.protocol = self.protocol, None
        if protocol is not None:
            protocol.connectionLost(reason)
        if self.connector is not None:
            self.connector.lost(reason)

    def _end_flow(self, last: SegmentKind | None) -> None:
        if last is not None:
            self.flow.send(last)
        self.reactor.forget(self)


def _half_closeable(protocol: object) -> IHalfCloseableProtocol | None:
    return protocol if IHalfCloseableProtocol.providedBy(protocol) else None
