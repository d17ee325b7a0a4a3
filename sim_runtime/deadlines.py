"""Deadlines: every wait ends, and its error names the awaited event, the time, and the option that changes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from sim_runtime.errors import SimRuntimeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IReactorTime

__all__ = ["DeadlineExceeded", "deadline", "sleep"]

T = TypeVar("T")


class DeadlineExceeded(SimRuntimeError):
    """An awaited event did not occur in time. `option` names the setting of the limit."""

    def __init__(self, awaited: str, waited_ms: float, option: str) -> None:
        super().__init__(awaited, waited_ms, option)
        self.awaited = awaited
        self.waited_ms = waited_ms
        self.option = option

    def __str__(self) -> str:
        return f"waited {self.waited_ms:.15g} ms for {self.awaited}; {self.option} allows longer"


def deadline(
    reactor: IReactorTime, deferred: Deferred[T], ms: float, *, awaited: str | Callable[[], str], option: str
) -> Deferred[T]:
    """Cancel `deferred` after `ms` and fail it with DeadlineExceeded; return the same Deferred.

    A function `awaited` is called when the time is over: its text can have the state then.
    If a canceller fires its Deferred with another result than CancelledError, that result stays.
    """
    if deferred.called and not deferred.paused:
        return deferred
    expired = False

    def expire() -> None:
        nonlocal expired
        expired = True
        deferred.cancel()

    call = reactor.callLater(ms / 1000, expire)

    def settle(result: T | Failure) -> T | Failure:
        if not expired:
            if call.active():
                call.cancel()
        elif isinstance(result, Failure) and result.check(CancelledError) is not None:
            return Failure(DeadlineExceeded(awaited if isinstance(awaited, str) else awaited(), ms, option))
        return result

    return deferred.addBoth(settle)


def sleep(reactor: IReactorTime, ms: float) -> Deferred[None]:
    """Fire after `ms`. Cancelling it removes the timer."""
    done: Deferred[None] = Deferred(lambda _: call.cancel())
    call = reactor.callLater(ms / 1000, done.callback, None)
    return done
