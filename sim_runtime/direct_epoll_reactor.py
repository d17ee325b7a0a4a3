"""Twisted's epoll reactor with less between the kernel and a connection.

Twisted runs each event within a logging context of its own, which names the connection to log observers of the old
kind. Nobody here reads it, and it takes a tenth of the time of a small request. What a handler raises is logged and
ends its connection either way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.epollreactor import EPollReactor

if TYPE_CHECKING:
    from collections.abc import Callable


class DirectEPollReactor(EPollReactor):
    """An EPollReactor that hands events to their connections by plain calls."""

    def doPoll(self, timeout: float | None) -> None:  # noqa: N802
        """Wait for events, for `timeout` seconds at most, and have them handled."""
        selectables = self._selectables
        handle: Callable[[Any, int, int], None] = self._doReadOrWrite
        for fd, event in self._poller.poll(-1 if timeout is None else timeout, len(selectables)):
            selectable = selectables.get(fd)
            if selectable is not None:
                handle(selectable, fd, event)

    doIteration = doPoll  # noqa: N815
