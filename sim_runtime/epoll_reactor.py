"""Twisted's epoll reactor for real time, with ports that stay reserved, a waker without reads, and events without a
logging context.

A reactor that spins polls for a moment before it blocks (SpinningWait). It is for a process that only serves.
"""

from __future__ import annotations

import os
from functools import partial
from select import EPOLLET, EPOLLIN
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.epollreactor import EPollReactor
from twisted.logger import Logger
from twisted.python import log

from sim_runtime.held_ports import HeldPorts
from sim_runtime.spinning_wait import SpinningWait

if TYPE_CHECKING:
    from collections.abc import Callable
    from select import epoll

    from twisted.internet.interfaces import IListeningPort
    from twisted.internet.protocol import ServerFactory

SHORT_WAITS_MIN: Final = 8
"""A reactor spins after this many short waits in a row that had the same waits before them. The pieces of one large
request, which also arrive without a pause, are fewer: a spin after the last of them would be unsuccessful."""


CANCELLATIONS_MAX: Final = 50
"""From more cancelled calls on, `runUntilCurrent` may remove them."""
LONGEST_WAIT_SECONDS: Final = 2_147_483
"""The limit of `timeout`: epoll counts milliseconds in 32 bits."""

_CLOSED: Final = -1
_NO_LIMIT: Final = -1


_log = Logger()


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
        # Returns descriptors with their events, after at most `timeout` seconds (-1: no limit).
        self.poll = partial(SpinningWait(seconds, short_waits_min=SHORT_WAITS_MIN).wait, poller.poll)
        self.register = poller.register
        self.modify = poller.modify
        self.unregister = poller.unregister
        self.close = poller.close


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
        Its `_doReadOrWrite` logs every error itself; most events are reads, which need only a part of it.
        """
        selectables = self._selectables
        for descriptor, event in self._poller.poll(_NO_LIMIT if timeout is None else timeout, len(selectables)):
            selectable = selectables.get(descriptor)
            if selectable is None:  # closed by an event before
                continue
            if event != EPOLLIN:
                self._doReadOrWrite(selectable, descriptor, event)  # type: ignore[no-untyped-call]  # Twisted's
                continue
            try:
                lost, in_read = selectable.doRead(), True
            except BaseException as error:  # noqa: BLE001 - as Twisted does: an error ends its connection alone
                log.err()
                lost, in_read = error, False
            if lost:
                self._disconnectSelectable(selectable, lost, in_read)  # type: ignore[no-untyped-call]  # Twisted's

    doIteration = doPoll  # noqa: N815 - Twisted's name

    def mainLoop(self) -> None:  # noqa: N802
        """Run until the reactor stops; an error that nothing else has caught is logged.

        Most iterations of a server have no call to run: Twisted's loop finds that out by five calls per iteration.
        """
        while self._started:
            try:
                while self._started:
                    self.doPoll(self._wait_seconds())
            except BaseException:  # noqa: BLE001 - as in Twisted's loop, which runs until `stop`
                _log.failure("Unexpected error in main loop")
        _log.info("Main loop terminated.")

    def _wait_seconds(self) -> float | None:
        """Run the calls that are due, and return the longest time to wait for events (None: no limit)."""
        pending = self._pendingTimedCalls
        if not (
            self.threadCallQueue
            or self._newTimedCalls
            or self._justStopped
            or self._cancellations > CANCELLATIONS_MAX
            or not self.running
        ):
            if not pending:
                return None
            delay = pending[0].time - self.seconds()
            if 0 < delay < LONGEST_WAIT_SECONDS:
                return delay
        self.runUntilCurrent()
        timeout = self.timeout()
        return timeout if self.running else 0

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
