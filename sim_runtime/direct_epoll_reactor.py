"""Twisted's epoll reactor with less between the kernel and a connection.

Twisted runs each event within a logging context of its own, which names the connection to log observers of the old
kind. Nobody here reads it, and it takes a tenth of the time of a small request. What a handler raises is logged and
ends its connection either way.

A process that sleeps is woken by an interrupt of its processor, which costs it and whoever wakes it more than a small
request does, and it wakes with cold caches. A reactor that spins looks again for a moment before it sleeps, as long as
that pays: while requests come and go without a pause, as from a client that sends one record at a time. Each time it
lets go first whoever else has work. It is for a process that does nothing but serve.
"""

from __future__ import annotations

import os
from select import EPOLLET, EPOLLIN
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.epollreactor import EPollReactor

from sim_runtime.held_ports import HeldPorts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from twisted.internet.interfaces import IListeningPort
    from twisted.internet.protocol import ServerFactory

    Wait: TypeAlias = Callable[[float, int], Sequence[tuple[int, int]]]
    """Waits for so many seconds at most (-1: for ever), for so many events at most; answers descriptors and events."""

LOOK_SECONDS: Final = 250e-6
"""How long a reactor that spins looks before it sleeps: longer than a client takes from an answer to a request."""

SHORT_SLEEP_SECONDS: Final = 250e-6
SHORT_SLEEPS_MIN: Final = 8
"""After so many sleeps in a row that were no longer than that, it looks first. The pieces of one large request, which
come without a pause too, are fewer: a look after the last of them would be in vain."""

_CLOSED: Final = -1

PROCESSORS_MIN: Final = 2
"""With fewer of them nobody could send anything while it looks."""


class EventWaker:
    """Wakes the loop from other threads by an eventfd, which tells of each write and is never read."""

    disconnected = 0

    def __init__(self) -> None:
        self._fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        # Between a look at the number and the write to it, somebody else's file could get it. A signal's handler may
        # come in between and wake the loop, too.
        self._lock = RLock()

    def fileno(self) -> int:
        """What the loop waits on; -1 once it is closed."""
        return self._fd

    def wakeUp(self) -> None:  # noqa: N802
        """End the loop's wait, or keep it from its next."""
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
    """An EPollReactor that hands events to their connections by plain calls, and may spin."""

    def __init__(self, *, spins: bool = False) -> None:
        self._spins = spins and len(os.sched_getaffinity(0)) >= PROCESSORS_MIN
        self._short_sleeps = 0
        self.held_ports = HeldPorts()
        self._wait: Wait | None = self._look_and_wait if self._spins else None
        super().__init__()  # type: ignore[no-untyped-call]  # Twisted's

    def doPoll(self, timeout: float | None) -> None:  # noqa: N802
        """Wait for events, for `timeout` seconds at most, and have them handled."""
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
        """Call soon, on the loop's thread; from any thread."""
        self.threadCallQueue.append((f, args, kwargs))
        self.wakeUp()

    def listenTCP(self, port: int, factory: ServerFactory, backlog: int = 50, interface: str = "") -> IListeningPort:  # noqa: N802
        """As every reactor; the port is nobody else's until the reactor is released."""
        held = self.held_ports.hold(interface, port)
        listening: IListeningPort = super().listenTCP(held, factory, backlog, interface)  # type: ignore[no-untyped-call]
        return listening

    def installWaker(self) -> None:  # noqa: N802
        """Be woken once by each call from another thread, with nothing to read."""
        if not self.waker:
            super().installWaker()  # type: ignore[no-untyped-call]  # Twisted's
            self._poller.modify(self.waker.fileno(), EPOLLIN | EPOLLET)

    def _wakerFactory(self) -> EventWaker:  # type: ignore[override]  # noqa: N802 - the interface has no public name
        return EventWaker()

    def _look_and_wait(self, timeout: float, events_max: int) -> Sequence[tuple[int, int]]:
        poll: Wait = self._poller.poll
        if not timeout:
            return poll(0, events_max)
        now = self.seconds()
        if self._short_sleeps >= SHORT_SLEEPS_MIN:
            look_until = now + min(LOOK_SECONDS, timeout) if timeout > 0 else now + LOOK_SECONDS
            while now < look_until:
                events = poll(0, events_max)
                if events:
                    return events
                os.sched_yield()
                now = self.seconds()
        events = poll(timeout, events_max)
        short = events and self.seconds() - now < SHORT_SLEEP_SECONDS
        self._short_sleeps = self._short_sleeps + 1 if short else 0
        return events
