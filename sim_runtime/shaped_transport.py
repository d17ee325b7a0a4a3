"""A layer between the transport of a connection and its protocol that shapes both directions.

It is put into an open or a new connection, on a real or a simulated socket, below TLS; an unshaped connection has none.
Its protocol sees what a kernel shows: bytes that it has written, and a close, are with the network from then on. A
protocol that closes is notified in the next loop iteration, while its last bytes are still under way.
"""

# ruff: noqa: N802
# The names are those of Twisted's interfaces.

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, cast

from twisted.internet.interfaces import IConsumer, IPushProducer, ITCPTransport
from twisted.internet.protocol import Protocol, connectionDone
from zope.interface import implementer

from sim_runtime.transport_base import ABORTED, DONE, LOST, TransportBase
from sim_runtime.virtual_transport import VirtualTransport
from sim_runtime.wire_line import Line

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.address import IPv4Address, IPv6Address
    from twisted.internet.interfaces import IProducer, IProtocol, IPullProducer, IReactorTime
    from twisted.python.failure import Failure

__all__ = ["ShapedTransport"]

_UPPER = "the protocol has paused"
_WINDOW = "the window is full"


@implementer(IPushProducer)
class _WriteBuffer:
    """The transport's write buffer: `full` from its pause to its resumption."""

    def __init__(self, emptied: Callable[[], None], *, full: bool) -> None:
        self.full = full
        self._emptied = emptied

    def pauseProducing(self) -> None:
        """The buffer exceeds its limit."""
        self.full = True

    def resumeProducing(self) -> None:
        """The buffer is empty."""
        self.full = False
        self._emptied()

    def stopProducing(self) -> None:
        """The connection is lost, which the protocol is notified of."""


@implementer(ITCPTransport, IPushProducer, IConsumer)
class ShapedTransport(TransportBase, Protocol):
    """`upstream` is the direction from the peer to the protocol, `downstream` the one back.

    `closed(self)` is called when neither the protocol nor the transport is connected any more.
    """

    def __init__(
        self,
        reactor: IReactorTime,
        raw: Any,
        upper: IProtocol,
        *,
        closed: Callable[[ShapedTransport], None],
        full: bool = False,
    ) -> None:
        """Take the place of `upper` at `raw`; `full` if bytes of the protocol wait in the transport's buffer."""
        super().__init__()
        self.connected = True
        self._reactor = reactor
        self._raw = raw
        self._upper: IProtocol | None = upper
        self._closed = closed
        self._raw_connected = True
        self._reset_pending = False
        self._reason = DONE
        self._arrived: deque[bytes] = deque()
        self._upstream_ended = False
        self._delivery_scheduled = False
        self._paused_by: dict[object, None] = {} if _reads(raw) else {_UPPER: None}
        self._buffer = _WriteBuffer(self._downstream_moved, full=full)
        self.upstream = Line(reactor, self, deliver=self._deliver, end=self._end_upstream, moved=self._upstream_moved)
        self.downstream = Line(reactor, self, deliver=raw.write, end=self._close_raw, moved=self._downstream_moved)
        raw.unregisterProducer()
        raw.registerProducer(self._buffer, True)
        raw.producerPaused = full
        raw.protocol = self

    # The protocol of the transport.

    def dataReceived(self, data: bytes) -> None:
        """Bytes of the peer."""
        if self._upper is None:
            return
        self.upstream.receive(data)
        if self.upstream.full:
            self.stop_reading(_WINDOW)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The transport is disconnected; the protocol is notified when the end has passed upstream."""
        self._raw_connected = False
        self._reason = reason
        self.downstream.discard()
        if self._upper is None:
            self._close()
        else:
            self.upstream.finish()

    # The transport of the protocol: writing.

    def write(self, data: bytes) -> None:
        """Send `data`."""
        if not data or self.disconnecting or not self._raw_connected:
            return
        self.downstream.receive(data)
        self._downstream_moved()

    def loseConnection(self) -> None:
        """Close after all that was written; the protocol is notified, the bytes go on."""
        if self.disconnecting or self.disconnected:
            return
        self.disconnecting = True
        self.stop_reading(_UPPER)
        self.downstream.finish()
        self._reactor.callLater(0, self._lose, DONE)

    def loseWriteConnection(self) -> None:
        """Close: a shaped connection has no half-closed state."""
        self.loseConnection()

    def abortConnection(self) -> None:
        """Reset the connection; bytes under way are lost, as when a RST overtakes them. The RST may get lost too."""
        if self.disconnected:
            return
        self.disconnecting = True
        self._reset_pending = True
        self.downstream.discard_bytes()
        self._reactor.callLater(0, self._lose, ABORTED)
        self._downstream_moved()

    def registerProducer(self, producer: IProducer, streaming: bool) -> None:  # noqa: FBT001
        """Pause a streaming producer while the direction is full; resume a pull producer whenever it is not."""
        super().registerProducer(producer, streaming)
        if streaming and not self.disconnected:
            self._downstream_moved()

    # The transport of the protocol: reading.

    def pauseProducing(self) -> None:
        """Deliver nothing until `resumeProducing`."""
        self.stop_reading(_UPPER)

    def resumeProducing(self) -> None:
        """Deliver again, from the next loop iteration on."""
        if self.disconnecting or self.disconnected:
            return
        self._paused_by.pop(_UPPER, None)
        if self._arrived or self._upstream_ended:
            self._schedule_delivery()
        else:
            self._read_on()

    # Properties of the socket.

    def getHost(self) -> IPv4Address | IPv6Address:
        """This end's address."""
        return cast("IPv4Address | IPv6Address", self._raw.getHost())

    def getPeer(self) -> IPv4Address | IPv6Address:
        """The other end's address."""
        return cast("IPv4Address | IPv6Address", self._raw.getPeer())

    def getTcpNoDelay(self) -> bool:
        """True if Nagle's algorithm is off."""
        return bool(self._raw.getTcpNoDelay())

    def setTcpNoDelay(self, enabled: bool) -> None:  # noqa: FBT001
        """Switch Nagle's algorithm off or on."""
        self._raw.setTcpNoDelay(enabled)

    def getTcpKeepAlive(self) -> bool:
        """True if an idle peer is probed."""
        return bool(self._raw.getTcpKeepAlive())

    def setTcpKeepAlive(self, enabled: bool) -> None:  # noqa: FBT001
        """Probe an idle peer, or not."""
        self._raw.setTcpKeepAlive(enabled)

    # The connection of the stages.

    def abort(self) -> None:
        """Reset the connection at both ends: the peer receives a RST, the protocol loses its connection."""
        self.upstream.discard()
        self.downstream.discard()
        self._arrived.clear()
        self._reactor.callLater(0, self._lose, LOST)
        if self._raw_connected:
            self._raw.abortConnection()

    def stop_reading(self, cause: object) -> None:
        """Read nothing from the peer until `start_reading(cause)`."""
        self._paused_by[cause] = None
        if self._raw_connected:
            self._raw.pauseProducing()

    def start_reading(self, cause: object) -> None:
        """End `stop_reading(cause)`."""
        self._paused_by.pop(cause, None)
        self._read_on()

    # Details.

    def _close_raw(self) -> None:
        # A transport closes only once no producer has to be resumed.
        self._raw.unregisterProducer()
        self._raw.loseConnection()

    def _read_on(self) -> None:
        if not self._paused_by and self._raw_connected:
            self._raw.resumeProducing()

    def _upstream_moved(self) -> None:
        if _WINDOW in self._paused_by and not self.upstream.full:
            self.start_reading(_WINDOW)

    def _downstream_moved(self) -> None:
        if self._reset_pending and self._raw_connected and not self.downstream.loses_resets:
            # After a lost RST, the peer receives another one for what it sends again.
            self._reset_pending = False
            self._raw.abortConnection()
        producer = self.producer
        if producer is None:
            return
        full = self._buffer.full or self.downstream.full
        if not self.streamingProducer:
            if not full:
                cast("IPullProducer", producer).resumeProducing()
        elif full is not self.producerPaused:
            self.producerPaused = full
            if full:
                cast("IPushProducer", producer).pauseProducing()
            else:
                cast("IPushProducer", producer).resumeProducing()

    def _deliver(self, data: bytes) -> None:
        if self._upper is None or self.disconnecting:
            return
        if _UPPER in self._paused_by or self._arrived:
            self._arrived.append(data)
        else:
            self._upper.dataReceived(data)

    def _end_upstream(self) -> None:
        if self._upstream_ended:
            return
        self._upstream_ended = True
        if self._raw_connected:
            # A stage has ended the direction: the peer sees the close as well.
            self._close_raw()
        if not self._arrived and _UPPER not in self._paused_by:
            self._lose(self._reason)

    def _schedule_delivery(self) -> None:
        if not self._delivery_scheduled:
            self._delivery_scheduled = True
            self._reactor.callLater(0, self._deliver_arrived)

    def _deliver_arrived(self) -> None:
        self._delivery_scheduled = False
        while self._arrived and _UPPER not in self._paused_by and self._upper is not None:
            self._upper.dataReceived(self._arrived.popleft())
        if self._arrived or _UPPER in self._paused_by:
            return
        if self._upstream_ended:
            self._lose(self._reason)
        else:
            self._read_on()

    def _lose(self, reason: Failure) -> None:
        """Notify the protocol, once, that its connection is gone."""
        upper, self._upper = self._upper, None
        if upper is None:
            return
        self.connected = False
        self.disconnected = True
        self.disconnecting = True
        self._arrived.clear()
        self.upstream.discard()
        self.stop_producer()
        upper.connectionLost(reason)
        if self._raw_connected:
            # To detect that the peer closes, the transport must read.
            self._paused_by.clear()
            self._raw.resumeProducing()
        else:
            self._close()

    def _close(self) -> None:
        self.upstream.discard()
        self.downstream.discard()
        self._closed(self)


def _reads(raw: Any) -> bool:
    """Return True if a transport reads now."""
    if isinstance(raw, VirtualTransport):
        return raw.reading
    return raw in raw.reactor.getReaders()
