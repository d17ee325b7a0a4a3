"""Twisted's epoll reactor for real time, with ports that stay reserved, a waker without reads, and events without a
logging context.

A reactor that spins polls for a moment before it blocks (SpinningWait). It is for a process that only serves.
"""

from __future__ import annotations

import os
from select import EPOLLET, EPOLLIN
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.epollreactor import EPollReactor

from sim_runtime.held_ports import HeldPorts
from sim_runtime.spinning_wait import SpinningWait

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from select import epoll

    from twisted.internet.interfaces import IListeningPort
    from twisted.internet.protocol import ServerFactory

SHORT_WAITS_MIN: Final = 8
"""A reactor spins after this many short waits in a row that had the same waits before them. The pieces of one large
request, which also arrive without a pause, are fewer: a spin after the last of them would be unsuccessful."""


_CLOSED: Final = -1
_NO_LIMIT: Final = -1


class EventWaker:
    """Wakes the loop from other threads by an eventfd, which signals each write and is never read.

    A read would release the global interpreter lock, for which the calling thread waits.
    """

    disconnected = 0

    def __init__(self) -> None:
        self._fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        # Between the check of the descriptor and the write, another file could get its number. The handler of a signal
        # may also wake the loop in between.
        self._lock = RLock()

    def fileno(self) -> int:
        """The descriptor that the loop waits on; -1 after it is closed."""
        return self._fd

    def logPrefix(self) -> str:  # noqa: N802
        """The name of the waker in Twisted's logging context."""
        return "waker"

    def wakeUp(self) -> None:  # noqa: N802
        """End the loop's current wait, or its next one."""
        with self._lock:
            if self._fd != _CLOSED:
                os.eventfd_write(self._fd, 1)

    def doRead(self) -> None:  # noqa: N802
        """Read nothing: the event has ended the wait."""

    def connectionLost(self, reason: object) -> None:  # noqa: ARG002, N802
        """Close it."""
        with self._lock:
            fd, self._fd = self._fd, _CLOSED
            if fd != _CLOSED:
                os.close(fd)


class _SpinningPoller:
    """An epoll object whose `poll` spins."""

    def __init__(self, poller: epoll, seconds: Callable[[], float]) -> None:
        self._poller = poller
        self._spinning = SpinningWait(seconds, short_waits_min=SHORT_WAITS_MIN)
        self.register = poller.register
        self.modify = poller.modify
        self.unregister = poller.unregister
        self.close = poller.close

    def poll(self, timeout: float, events_max: int) -> Sequence[tuple[int, int]]:
        """Return descriptors with their events, after at most `timeout` seconds (-1: no limit)."""
        return self._spinning.wait(self._poller.poll, timeout, events_max)


class RealEPollReactor(EPollReactor):
    """An EPollReactor of real time; see the module."""

    def __init__(self, *, spins: bool = False) -> None:
        self._held_ports = HeldPorts()
        super().__init__()  # type: ignore[no-untyped-call]  # Twisted's
        if spins:
            # Twisted has no public method around the wait.
            self._poller: Any = _SpinningPoller(self._poller, self.seconds)

    def doPoll(self, timeout: float | None) -> None:  # noqa: N802
        """Wait for at most `timeout` seconds (None: no limit), and read and write what is ready.

        Twisted also sets the context of its older log functions for each event, which takes longer than a system call.
        Its `_doReadOrWrite` logs every error itself.
        """
        selectables = self._selectables
        for descriptor, event in self._poller.poll(_NO_LIMIT if timeout is None else timeout, len(selectables)):
            selectable = selectables.get(descriptor)
            if selectable is not None:  # not closed by an event before
                self._doReadOrWrite(selectable, descriptor, event)  # type: ignore[no-untyped-call]  # Twisted's

    doIteration = doPoll  # noqa: N815 - Twisted's name

    def listenTCP(self, port: int, factory: ServerFactory, backlog: int = 50, interface: str = "") -> IListeningPort:  # noqa: N802
        """Listen as every reactor does; the port stays reserved until the reactor is released."""
        held = self._held_ports.hold(interface, port)
        listening: IListeningPort = super().listenTCP(held, factory, backlog, interface)  # type: ignore[no-untyped-call]
        return listening

    def installWaker(self) -> None:  # noqa: N802
        """Install an edge-triggered waker: each call from another thread wakes the loop once, with nothing to read."""
        if not self.waker:
            super().installWaker()  # type: ignore[no-untyped-call]  # Twisted's
            self._poller.modify(self.waker.fileno(), EPOLLIN | EPOLLET)

    def _wakerFactory(self) -> EventWaker:  # type: ignore[override]  # noqa: N802 - the interface has no public name
        return EventWaker()

    def release(self) -> None:
        """Close the descriptors that it keeps after it has stopped; it cannot be used again."""
        self._held_ports.release()
        waker, self.waker = self.waker, None
        if waker is not None:
            waker.connectionLost(None)
