"""Sets the size and the time of the next read from a socket. Mirrors how NetworkReceive sizes its buffer.

Many small frames arrive together, and one read takes them all. For a large frame, one read takes the size field,
and the next one waits until the rest has arrived and takes exactly that: the kernel copies the bytes once and wakes
this process once.
"""

from __future__ import annotations

import sys
from socket import SO_RCVLOWAT, SOL_SOCKET
from typing import TYPE_CHECKING, Final, cast

from sim_runtime.direct_send import is_plain_socket

if TYPE_CHECKING:
    from socket import socket

    from twisted.internet import tcp
__all__ = ["ReadPace"]

READ_SIZE_BYTES: Final = 120 * 1024
"""The usual size of one read: from 128 KiB on C libraries allocate with a system call, which costs more than a small
frame."""
BULK_READ_SIZE_BYTES: Final = 256 * 1024
"""The size of the next read after a read that was full."""
AWAITED_BYTES_MIN: Final = 64 * 1024
"""A frame that lacks fewer bytes is read as they arrive."""
AWAITED_BYTES_MAX: Final = 1024 * 1024 + 64 * 1024
"""The maximum number of bytes to wait for: they occupy the kernel's buffer until they are read. A response with
max.partition.fetch.bytes of records, and the request with max.request.size, have some more bytes than 1 MiB."""
FRAME_SIZE_BYTES: Final = 4


class ReadPace:
    """The reads of one connection; a transport that is no Linux socket is read as its bytes arrive."""

    __slots__ = ("_awaited", "_read_size", "_socket", "_transport", "is_usual")

    def __init__(self, transport: object) -> None:
        self._transport = transport
        self._socket: socket | None = None
        if sys.platform == "linux" and is_plain_socket(transport):
            self._socket = cast("tcp.Connection", transport).socket
        self._awaited = 0
        """The number of bytes that the next read waits for; 0 for any number."""
        self._set_read_size(READ_SIZE_BYTES)

    def adjust(self, received: int, missing: int) -> None:
        """Set the next read after one that returned `received` bytes; the unfinished frame lacks `missing`."""
        if missing >= AWAITED_BYTES_MIN and self._socket is not None:
            self._await(self._socket, min(missing, AWAITED_BYTES_MAX))
        elif self._awaited and self._socket is not None:
            # The next frame is most likely as large. If not, the cost is one small read.
            self._await(self._socket, 0)
            self._set_read_size(missing or FRAME_SIZE_BYTES)
        elif received >= READ_SIZE_BYTES:
            self._set_read_size(BULK_READ_SIZE_BYTES)
        elif self._read_size != READ_SIZE_BYTES:
            self._set_read_size(READ_SIZE_BYTES)

    def _await(self, connected: socket, size: int) -> None:
        if size != self._awaited:
            self._awaited = size
            connected.setsockopt(SOL_SOCKET, SO_RCVLOWAT, size or 1)
            self._set_read_size(size)

    def _set_read_size(self, size: int) -> None:
        # An attribute of the instance: Twisted's transports read it each time, others ignore it.
        self._read_size = size
        self._transport.bufferSize = size  # type: ignore[attr-defined]
        self.is_usual = size == READ_SIZE_BYTES and not self._awaited
        """True while a read takes READ_SIZE_BYTES at most and waits for no more than one byte."""
