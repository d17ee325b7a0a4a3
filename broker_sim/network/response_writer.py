"""How response bytes leave: straight into the socket, or through the transport's buffer. Mirrors NetworkSend.

`write` answers whether the bytes are gone (True), or wait in a buffer until `drained` is called (False): a response
counts as sent, and its channel is unmuted, only then, so that a client which does not read its responses stalls
itself and costs one response of memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, cast

from twisted.internet.interfaces import IConsumer, IPullProducer, IPushProducer, ITCPTransport
from zope.interface import implementer

from sim_runtime.direct_send import is_plain_socket, send_at_once

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet import tcp

__all__ = ["LOST", "BufferedWriter", "DirectWriter", "IChannelTransport", "ResponseWriter", "writer_for"]


class IChannelTransport(ITCPTransport, IPushProducer, IConsumer):
    """A server's side of a connection: it can be paused, and it can pace what is written to it."""


class ResponseWriter(Protocol):
    """What a channel writes through."""

    def write(self, data: bytes) -> bool:
        """Send bytes; False when `drained` will be called once they are gone."""


class _LostWriter:
    """Sends nothing, as a network that loses all that a broker writes."""

    def write(self, data: bytes) -> bool:  # noqa: ARG002 - as every writer
        """Lose the bytes."""
        return True


LOST: Final = _LostWriter()


def writer_for(transport: IChannelTransport, drained: Callable[[], None]) -> ResponseWriter:
    """The fastest writer that the transport allows: TLS and simulated sockets need their own buffers."""
    if is_plain_socket(transport):
        return DirectWriter(cast("tcp.Connection", transport), drained)
    return BufferedWriter(transport, drained)


@implementer(IPullProducer)
class DirectWriter:
    """Sends on a kernel socket at once."""

    __slots__ = ("_drained", "_transport", "_waiting")

    def __init__(self, transport: tcp.Connection, drained: Callable[[], None]) -> None:
        self._transport = transport
        self._drained = drained
        self._waiting = False

    def write(self, data: bytes) -> bool:
        """Send what the socket takes; the transport buffers the rest and asks for more when it is gone."""
        transport = self._transport
        if not self._waiting:
            data = send_at_once(transport, data)
            if not data:
                return True
        transport.write(data)
        if not self._waiting:
            # Registering a pull producer asks it for data at once; only the second time means "drained".
            transport.registerProducer(self, False)
            self._waiting = True
        return False

    def resumeProducing(self) -> None:  # noqa: N802
        """The transport's buffer is empty."""
        if self._waiting:
            self._waiting = False
            self._transport.unregisterProducer()
            self._drained()

    def stopProducing(self) -> None:  # noqa: N802
        """The connection is lost: its channel hears of it by connectionLost."""


@implementer(IPushProducer)
class BufferedWriter:
    """Writes through the transport, which says when its buffer is beyond its limit and when it is empty again."""

    __slots__ = ("_drained", "_paused", "_transport")

    def __init__(self, transport: IChannelTransport, drained: Callable[[], None]) -> None:
        self._transport = transport
        self._drained = drained
        self._paused = False
        transport.registerProducer(self, True)

    def write(self, data: bytes) -> bool:
        """Hand the bytes to the transport."""
        self._transport.write(data)
        return not self._paused

    def pauseProducing(self) -> None:  # noqa: N802
        """The transport holds more than its limit."""
        self._paused = True

    def resumeProducing(self) -> None:  # noqa: N802
        """The transport has sent what it held."""
        if self._paused:
            self._paused = False
            self._drained()

    def stopProducing(self) -> None:  # noqa: N802
        """The connection is lost: its channel hears of it by connectionLost."""
