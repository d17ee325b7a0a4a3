"""An epoll reactor that lends its work to other threads while its own waits in the kernel: leader and followers.

A thread that gives its loop something to do and waits for the answer sleeps and wakes four times with it, and the two
fight for the interpreter. One that may act for the loop does the same without any hand-over. What belongs to the loop's
thread still belongs to one thread at a time: who holds the lock is it.
"""

from __future__ import annotations

from select import EPOLLIN, EPOLLOUT
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Any, Final

from sim_runtime.direct_epoll_reactor import DirectEPollReactor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from twisted.internet.base import DelayedCall
    from twisted.internet.tcp import Connection

__all__ = ["LendingEPollReactor"]

_NOBODY: Final = 0
_NO_DESCRIPTOR: Final = -1


class LendingEPollReactor(DirectEPollReactor):
    """A thread that has borrowed it may call whatever is for the loop's thread alone, until it gives it back.

    Who borrows must not be broken off in between by what a signal's handler raises: see InterruptGuard.
    """

    def __init__(self) -> None:
        super().__init__()
        self._held = Lock()
        self._held.acquire()  # by the loop, until it waits for the first time and whenever it does not wait
        self._is_over = False
        self._borrower = _NOBODY
        self._aside = _NO_DESCRIPTOR
        self._has_sooner_call = False
        self._wait = self._wait_and_lend

    def borrow(self, *, waits: bool = False) -> bool:
        """Act for the loop from now on, unless it has something to do itself; with `waits` after it has done that.

        False as well when it has ended: there is nothing to act for any more.
        """
        if not self._held.acquire(waits):
            return False
        if self._is_over:
            self._held.release()
            return False
        self._borrower = get_ident()
        return True

    def give_back(self) -> None:
        """The loop acts for itself again, and knows of the calls that were made to be due before it would look."""
        if self._newTimedCalls or self._has_sooner_call:
            self._has_sooner_call = False
            self.wakeUp()
        self._borrower = _NOBODY
        self._held.release()

    def is_borrowed_here(self) -> bool:
        """Whether the calling thread acts for the loop."""
        return self._borrower == get_ident()

    # While it is borrowed

    def set_aside(self, transport: Connection) -> None:
        """The borrower waits for what the connection receives: the loop does not, until it is `put_back`.

        One connection at a time.
        """
        fd = self._aside = transport.fileno()
        self._poller.modify(fd, EPOLLOUT if fd in self._writes else 0)

    def put_back(self, transport: Connection) -> None:
        """The loop reads from it again, if it has not been lost meanwhile."""
        self._aside = _NO_DESCRIPTOR
        fd = transport.fileno()
        if self.has(transport):
            reads = EPOLLIN if fd in self._reads else 0
            self._poller.modify(fd, reads | (EPOLLOUT if fd in self._writes else 0))

    def has(self, transport: Connection) -> bool:
        """Whether the loop knows the connection, which it does until it is lost or closed."""
        return self._selectables.get(transport.fileno()) is transport

    def receive(self, transport: Connection) -> None:
        """Read what the connection has, as the loop does it; a connection that has ended is told so."""
        handle: Callable[[Any, int, int], None] = self._doReadOrWrite
        handle(transport, transport.fileno(), EPOLLIN)

    # Details

    def _wait_and_lend(self, timeout: float, events_max: int) -> Sequence[tuple[int, int]]:
        self._held.release()
        try:
            events: Sequence[tuple[int, int]] = self._poller.poll(timeout, events_max)
        finally:
            self._held.acquire()
        # What was set aside is written to all the same; the kernel may just have told that there is something to read.
        aside = self._aside
        if aside == _NO_DESCRIPTOR:
            return events
        kept = ((fd, event & EPOLLOUT if fd == aside else event) for fd, event in events)
        return [(fd, event) for fd, event in kept if event]

    def mainLoop(self) -> None:  # noqa: N802 - Twisted's
        """Run until stopped; who waits to borrow hears then that it is over."""
        try:
            super().mainLoop()
        finally:
            self._is_over = True
            self._held.release()

    def _moveCallLaterSooner(self, delayedCall: DelayedCall) -> None:  # noqa: N802, N803 - Twisted's
        super()._moveCallLaterSooner(delayedCall)
        self._has_sooner_call = True
