"""A reactor on real time and real sockets, never installed as Twisted's global one: a process may have several."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from twisted.internet.error import ConnectionDone, ReactorNotRunning
from twisted.python.failure import Failure

if TYPE_CHECKING:
    from twisted.internet.base import ReactorBase

    from sim_runtime.epoll_reactor import RealEPollReactor
    from sim_runtime.interfaces import IReactor

    class RealReactor(ReactorBase, IReactor):
        """A whole Twisted reactor, with TCP, threads and `run()`; a name for annotations alone."""


__all__ = ["new_reactor", "release_reactor", "stop_at_signals"]


def new_reactor(*, spins: bool = False) -> RealReactor:
    """Return a reactor that has not run yet: epoll on Linux, else select.

    With `spins` it polls for a moment before it blocks, on Linux: for a process that only serves.
    """
    reactor: ReactorBase
    if sys.platform == "linux":
        from sim_runtime.epoll_reactor import RealEPollReactor

        reactor = RealEPollReactor(spins=spins)
    else:
        from twisted.internet.selectreactor import SelectReactor

        reactor = SelectReactor()
    return cast("RealReactor", reactor)


def stop_at_signals(reactor: RealReactor) -> None:
    """Stop a reactor at the first SIGINT or SIGTERM. Further ones change nothing; Twisted's handler logs an error."""

    def stop() -> None:
        with suppress(ReactorNotRunning):
            reactor.stop()

    def handle() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: reactor.callFromThread(stop))

    reactor.callWhenRunning(handle)  # after Twisted has installed its own


def release_reactor(reactor: RealReactor) -> None:
    """Close the descriptors that a reactor keeps after it has stopped; it cannot be used again."""
    if sys.platform == "linux":
        cast("RealEPollReactor", reactor).release()
    elif reactor.waker is not None:
        reactor.waker.connectionLost(Failure(ConnectionDone()))
        reactor.waker = None
