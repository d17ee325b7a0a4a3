"""A delayed call on an asyncio loop, as Twisted's IDelayedCall."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.error import AlreadyCalled, AlreadyCancelled
from twisted.internet.interfaces import IDelayedCall
from twisted.python.runtime import seconds
from zope.interface import implementer

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

__all__ = ["AsyncioDelayedCall"]


@implementer(IDelayedCall)
class AsyncioDelayedCall:
    """The call is in `pending` until it is made or cancelled."""

    __slots__ = ("_args", "_called", "_cancelled", "_due", "_function", "_handle", "_kwargs", "_loop", "_pending")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        pending: dict[AsyncioDelayedCall, None],
        function: Callable[..., Any],
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
    ) -> None:
        self._loop = loop
        self._pending = pending
        self._function: Callable[..., Any] | None = function
        self._args = args
        self._kwargs = kwargs
        self._called = False
        self._cancelled = False
        self._due = 0.0
        self._handle: asyncio.Handle | None = None

    def start(self, delay: float) -> None:
        """Schedule the call in `delay` seconds, also if it was scheduled before."""
        if self._handle is not None:
            self._handle.cancel()
        self._pending[self] = None
        self._due = self._loop.time() + delay
        # Timers of a loop with one due time run in any order; calls that are due at once keep the order of scheduling.
        self._handle = self._loop.call_later(delay, self._make) if delay > 0 else self._loop.call_soon(self._make)

    def getTime(self) -> float:  # noqa: N802
        """The due time, in seconds since the epoch."""
        return float(seconds()) + self._due - self._loop.time()

    def cancel(self) -> None:
        """Cancel the call. Raises AlreadyCalled or AlreadyCancelled."""
        self._check()
        self._cancelled = True
        self._pending.pop(self, None)
        if self._handle is not None:
            self._handle.cancel()
        self._function = None
        self._args = ()

    def reset(self, secondsFromNow: float) -> None:  # noqa: N803
        """Reschedule the call to that many seconds from now."""
        self._check()
        self.start(secondsFromNow)

    def delay(self, secondsLater: float) -> None:  # noqa: N803
        """Postpone the call by that many seconds."""
        self._check()
        self.start(max(self._due + secondsLater - self._loop.time(), 0.0))

    def active(self) -> bool:
        """True if the call is pending."""
        return not (self._called or self._cancelled)

    def _check(self) -> None:
        if self._cancelled:
            raise AlreadyCancelled
        if self._called:
            raise AlreadyCalled

    def _make(self) -> None:
        self._called = True
        self._pending.pop(self, None)
        function, self._function = self._function, None
        if function is not None:
            function(*self._args, **self._kwargs)
