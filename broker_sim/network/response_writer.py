"""Writes response bytes: directly to the socket, or through the transport's buffer. Mirrors NetworkSend.

`write` returns True when the bytes are sent, and False when they wait in a buffer until `drained` is called. A response
counts as sent, and its channel is unmuted, only then: a client that does not read its responses blocks only itself and
occupies the memory of one response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, cast

from twisted.internet.interfaces import IConsumer, IPullProducer, IPushProducer, ITCPTransport
from zope.interface import implementer

from protocol_specs.framing import LargeFrame
from sim_runtime.direct_send import is_plain_socket, send_at_once, send_parts_at_once

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet import tcp

__all__ = [
    "LOST",
    "BufferedWriter",
    "DirectWriter",
    "Frame",
    "IChannelTransport",
    "ResponseWriter",
    "joined",
    "writer_for",
]

Frame: TypeAlias = bytes | LargeFrame
"""The bytes of one response, or of several."""


class IChannelTransport(ITCPTransport, IPushProducer, IConsumer):
    """The server side of a connection: its reading can be paused, and it reports when its write buffer is full."""


class ResponseWriter(Protocol):
    """Writes the responses of one channel."""

    def write(self, frame: Frame) -> bool:
        """Send bytes; return False if they wait: `drained` is called once they are sent."""


class _LostWriter:
    """Discards all bytes, like a network that loses every packet."""

    def write(self, frame: Frame) -> bool:  # noqa: ARG002 - the signature of ResponseWriter
        """Discard the bytes."""
        return True


LOST: Final = _LostWriter()


def writer_for(transport: IChannelTransport, drained: Callable[[], None]) -> ResponseWriter:
    """Return the fastest writer for a transport: TLS and simulated sockets need their own buffers."""
    if is_plain_socket(transport):
        return DirectWriter(cast("tcp.Connection", transport), drained)
    return BufferedWriter(transport, drained)


@implementer(IPullProducer)
class DirectWriter:
    """Writes directly to a kernel socket."""

    __slots__ = ("_drained", "_transport", "_waiting")

    def __init__(self, transport: tcp.Connection, drained: Callable[[], None]) -> None:
        self._transport = transport
        self._drained = drained
        self._waiting = False

    def write(self, frame: Frame) -> bool:
        """Send as many bytes as the socket accepts; the transport buffers the rest and reports when it is sent."""
        transport = self._transport
        if self._waiting:
            transport.write(joined(frame))
            return False
        rest = (
            send_at_once(transport, frame) if isinstance(frame, bytes) else send_parts_at_once(transport, frame.parts)
        )
        if not rest:
            return True
        transport.write(rest)
        # The registration calls resumeProducing immediately; only the second call means "drained".
        transport.registerProducer(self, False)
        self._waiting = True
        return False

    def resumeProducing(self) -> None:  # noqa: N802
        """Report that the transport's buffer is empty."""
        if self._waiting:
            self._waiting = False
            self._transport.unregisterProducer()
            self._drained()

    def stopProducing(self) -> None:  # noqa: N802
        """Do nothing: `connectionLost` notifies the channel of a lost connection."""


@implementer(IPushProducer)
class BufferedWriter:
    """Writes through the transport, which reports when its buffer exceeds its limit and when it is empty again."""

    __slots__ = ("_drained", "_paused", "_transport")

    def __init__(self, transport: IChannelTransport, drained: Callable[[], None]) -> None:
        self._transport = transport
        self._drained = drained
        self._paused = False
        transport.registerProducer(self, True)

    def write(self, frame: Frame) -> bool:
        """Pass the bytes to the transport."""
        self._transport.write(joined(frame))
        return not self._paused

    def pauseProducing(self) -> None:  # noqa: N802
        """Note that the transport's buffer exceeds its limit."""
        self._paused = True

    def resumeProducing(self) -> None:  # noqa: N802
        """Report that the transport's buffer is empty again."""
        if self._paused:
            self._paused = False
            self._drained()

    def stopProducing(self) -> None:  # noqa: N802
        """Do nothing: `connectionLost` notifies the channel of a lost connection."""


def joined(*frames: Frame) -> bytes:
    """Return frames as one sequence of bytes."""
    return b"".join([frame if isinstance(frame, bytes) else frame.joined() for frame in frames])
