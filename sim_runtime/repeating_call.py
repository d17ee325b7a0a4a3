"""A function called at a fixed rate on a given reactor. Mirrors KafkaScheduler's periodic tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall, IReactorTime

__all__ = ["RepeatingCall"]


class RepeatingCall:
    """Call `function` every `interval_ms` without drift; calls that a slow machine missed are skipped.

    An exception goes to the reactor, and the next call still happens, as in KafkaScheduler.
    """

    __slots__ = ("_call", "_function", "_initial_delay", "_interval", "_reactor", "_started", "_turns")

    def __init__(self, reactor: IReactorTime, interval_ms: float, function: Callable[[], object]) -> None:
        if interval_ms <= 0:
            raise ValueError(f"interval_ms must be above 0, not {interval_ms}")
        self._reactor = reactor
        self._interval = interval_ms / 1000
        self._function = function
        self._call: IDelayedCall | None = None
        self._started = 0.0
        self._initial_delay = 0.0
        self._turns = 0

    @property
    def running(self) -> bool:
        """True if a next call is scheduled."""
        return self._call is not None

    def start(self, *, initial_delay_ms: float | None = None) -> None:
        """Start; the first call comes after `initial_delay_ms`, by default after one interval."""
        if self._call is not None:
            raise RuntimeError("this RepeatingCall runs already")
        self._initial_delay = self._interval if initial_delay_ms is None else initial_delay_ms / 1000
        self._started = self._reactor.seconds()
        self._turns = 0
        self._call = self._reactor.callLater(self._initial_delay, self._turn)

    def stop(self) -> None:
        """Stop; does nothing if it does not run. It may be started again."""
        call, self._call = self._call, None
        if call is not None and call.active():
            call.cancel()

    def _turn(self) -> None:
        elapsed = self._reactor.seconds() - self._started
        missed = int((elapsed - self._initial_delay) / self._interval) - self._turns
        self._turns += max(0, missed) + 1
        # Computed from the start, because adding intervals up would accumulate rounding errors.
        delay = self._initial_delay + self._turns * self._interval - elapsed
        # Scheduled before the call, so that the function may stop the repetition, and may fail.
        self._call = self._reactor.callLater(max(0.0, delay), self._turn)
        self._function()
