"""Twisted's epoll reactor with fewer calls between the kernel and a connection.

Twisted runs each event within a logging context of its own, which names the connection for legacy log observers.
Nothing here reads it, and it takes a tenth of the time of a small request. An exception of a handler is logged
and ends its connection in both cases.

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
    from typing import TypeAlias

    from twisted.internet.interfaces import IListeningPort
    from twisted.internet.protocol import ServerFactory

    Wait: TypeAlias = Callable[[float, int], Sequence[tuple[int, int]]]
    """A wait with limits of seconds (-1: none) and of events; returns descriptors and events."""

SHORT_WAITS_MIN: Final = 8
"""A reactor spins after this many short waits in a row. The pieces of one large request, which also arrive without a
pause, are fewer: a spin after the last of them would be unsuccessful."""

_CLOSED: Final = -1


class EventWaker:
    """Wakes the loop from other threads by an eventfd, which signals each write and is never read."""

    disconnected = 0

    def __init__(self) -> None:
        self._fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        # Between the check of the descriptor and the write, another file could get its number. The handler of a signal
        # may also wake the loop in between.
        self._lock = RLock()

    def fileno(self) -> int:
        """The descriptor that the loop waits on; -1 after it is closed."""
        return self._fd

    def wakeUp(self) -> None:  # noqa: N802
        """End the loop's current wait, or its next one."""
        with self._lock:
            if self._fd != _CLOSED:
                os.eventfd_write(self._fd, 1)

    def connectionLost(self, reason: object) -> None:  # noqa: ARG002, N802
        """Close it."""
        with self._lock:
            fd, self._fd = self._fd, _CLOSED
            if fd != _CLOSED:
                os.close(fd)


class DirectEPollReactor(EPollReactor):
    """An EPollReactor that dispatches events to their connections by plain calls, and may spin."""

    def __init__(self, *, spins: bool = False) -> None:
        self._spinning = SpinningWait(self.seconds, short_waits_min=SHORT_WAITS_MIN)
        self.held_ports = HeldPorts()
        self._wait: Wait | None = self._spin_and_wait if spins else None
        super().__init__()  # type: ignore[no-untyped-call]  # Twisted's

    def doPoll(self, timeout: float | None) -> None:  # noqa: N802
        """Wait for events, for at most `timeout` seconds, and handle them."""
        selectables = self._selectables
        handle: Callable[[Any, int, int], None] = self._doReadOrWrite
        wait = self._wait or self._poller.poll
        waker = self.waker
        for fd, event in wait(-1 if timeout is None else timeout, len(selectables)):
            selectable = selectables.get(fd)
            if selectable is not None and selectable is not waker:
                handle(selectable, fd, event)

    doIteration = doPoll  # noqa: N815

    def callFromThread(self, f: Callable[..., Any], *args: object, **kwargs: object) -> None:  # noqa: N802
        """Schedule a call on the loop's thread, from any thread."""
        self.threadCallQueue.append((f, args, kwargs))
        self.wakeUp()

    def listenTCP(self, port: int, factory: ServerFactory, backlog: int = 50, interface: str = "") -> IListeningPort:  # noqa: N802
        """Listen as every reactor does; the port stays reserved until the reactor is released."""
        held = self.held_ports.hold(interface, port)
        listening: IListeningPort = super().listenTCP(held, factory, backlog, interface)  # type: ignore[no-untyped-call]
        return listening

    def installWaker(self) -> None:  # noqa: N802
        """Install an edge-triggered waker: each call from another thread wakes the loop once, with nothing to read."""
        if not self.waker:
            super().installWaker()  # type: ignore[no-untyped-call]  # Twisted's
            self._poller.modify(self.waker.fileno(), EPOLLIN | EPOLLET)

    def _wakerFactory(self) -> EventWaker:  # type: ignore[override]  # noqa: N802 - the interface has no public name
        return EventWaker()

    def _spin_and_wait(self, timeout: float, events_max: int) -> Sequence[tuple[int, int]]:
        poll: Wait = self._poller.poll
        return self._spinning.wait(poll, timeout, events_max)
