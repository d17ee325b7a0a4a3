"""A listener that does not accept: its queue of new connections fills, and then no SYN gets a reply.

Connections in the queue are open as far as their clients can see. With a queue of 0 a client's `connect` hangs until it
gives up, or until a retransmitted SYN arrives after the release. Real listeners use the kernel's own queue, simulated
ones model it.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any, Protocol

from sim_runtime.virtual_connection import VirtualListeningPort

if TYPE_CHECKING:
    from twisted.internet.interfaces import IListeningPort

__all__ = ["AcceptQueue", "hold_accepts"]


class AcceptQueue(Protocol):
    """A held listener."""

    filler_port: int
    """The client's port of a connection that only fills the queue, 0 for none: the owner of the listener closes it."""

    def accept_one(self) -> None:
        """Accept the connection that has waited longest, if there is one."""

    def release(self) -> None:
        """Accept all that wait, and listen as before."""


def hold_accepts(port: IListeningPort, size: int, *, backlog: int) -> AcceptQueue:
    """Stop accepting: at most `size` connections wait. `backlog` is the size of the queue afterwards."""
    if isinstance(port, VirtualListeningPort):
        return _SimulatedQueue(port, size)
    return _KernelQueue(port, size, backlog)


class _SimulatedQueue:
    filler_port = 0

    def __init__(self, port: VirtualListeningPort, size: int) -> None:
        self._port = port
        port.hold_accepts(size)

    def accept_one(self) -> None:
        """Accept the oldest."""
        self._port.accept_one()

    def release(self) -> None:
        """Accept all."""
        self._port.release_accepts()


class _KernelQueue:
    """The queue of a kernel has room for one connection more than its backlog, so that a filler takes the last one."""

    def __init__(self, port: Any, size: int, backlog: int) -> None:
        self._port = port
        self._backlog = backlog
        self._filler: socket.socket | None = None
        self.filler_port = 0
        port.stopReading()
        port.socket.listen(max(0, size - 1))
        if not size:
            address = port.socket.getsockname()
            filler = socket.socket(port.socket.family)
            filler.setblocking(False)
            filler.connect_ex(address)
            self.filler_port = filler.getsockname()[1]
            self._filler = filler

    def accept_one(self) -> None:
        """Accept the oldest."""
        self._port.numberAccepts = 1
        self._port.doRead()

    def release(self) -> None:
        """Accept from the next iteration on."""
        if self._filler is not None:
            self._filler.close()
            self._filler = None
        if self._port.connected:
            self._port.socket.listen(self._backlog)
            self._port.startReading()
